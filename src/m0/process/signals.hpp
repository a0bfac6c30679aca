#pragma once
// Signals as events: a handler counts and pokes an eventfd, the main thread acts.

#include <atomic>
#include <cstdint>
#include <span>

#include "m0/base/fd.hpp"

namespace m0::process {

/// One a process at a time; made and used on the main thread. poke() from any thread.
class Signals {
 public:
  /// Installs handlers for `numbers`. They act only in this process: in a child that shares them for a moment (vfork,
  /// a fork of the application) the signal takes its default course. Throws std::system_error.
  explicit Signals(std::span<const int> numbers);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Readable when something happened since the last drain().
  [[nodiscard]] int fd() const noexcept { return event_.get(); }
  void drain() noexcept;
  /// How often the signal came since the last call.
  [[nodiscard]] unsigned take(int number) noexcept;
  /// Makes fd() readable from any thread, or from another process that inherited it.
  void poke() const noexcept;

 private:
  base::Fd event_;
};

}  // namespace m0::process
