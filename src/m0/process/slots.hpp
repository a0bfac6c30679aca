#pragma once
// What the supervisor and its workers share: one slot a worker, in memory made before the first fork.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "m0/base/metric.hpp"
#include "m0/server/accept_gate.hpp"

namespace m0::process {

enum class WorkerState : std::uint32_t { Empty, Booting, Ready, Stopping };

/// Written by its worker; read by the supervisor.
struct Slot {
  std::atomic<WorkerState> state{WorkerState::Empty};
  /// Set by the supervisor before it signals: the worker's graceful time is over. Otherwise a worker that gets a second
  /// SIGTERM, of whoever signalled the whole process group, goes on finishing its answers.
  std::atomic<bool> end_at_once{false};
  base::metric::Slab metrics{};
  /// Why the configuration cannot work here: all workers find the same, and the supervisor says it once. Read when the
  /// worker has ended; what does not fit is cut.
  std::array<char, 1024> refusal{};

  void refuse(std::string_view sentence) noexcept;
};

/// The supervisor makes it; workers inherit it.
class Slots {
 public:
  /// Throws std::system_error.
  explicit Slots(unsigned workers);
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  [[nodiscard]] unsigned size() const noexcept { return workers_; }
  [[nodiscard]] Slot& operator[](unsigned worker) noexcept { return slots_[worker]; }
  [[nodiscard]] std::span<server::WorkerLoad> loads() noexcept { return {loads_, workers_}; }
  /// A worker has died: its clients are gone and it accepts nobody.
  void clear(unsigned worker) noexcept;

 private:
  unsigned workers_;
  std::size_t bytes_;
  void* memory_;
  server::WorkerLoad* loads_;
  Slot* slots_;
};

}  // namespace m0::process
