#pragma once
// Wakes one sleeping thread (a loop) from any other through an eventfd, written only when the sleeper said it sleeps.

#include <atomic>
#include <cstdint>

#include "m0/base/clock.hpp"
#include "m0/base/fd.hpp"

namespace m0::base {

/// wake(): any thread. Everything else: the thread that sleeps.
class Waker {
 public:
  /// Throws std::system_error when no eventfd can be made.
  Waker();

  /// To be polled for reading.
  [[nodiscard]] int fd() const noexcept { return event_.get(); }

  /// Says "from now on a wake must write". The sleeper looks at its queues once more after this and before it polls:
  /// sequential consistency on both sides makes either the sleeper see the work or the worker see the sleeper.
  /// `until`: when it wakes by itself.
  void announce_sleep(Instant until = Instant::max()) noexcept {
    until_ns_.store(to_ns(until), std::memory_order_relaxed);
    asleep_.store(true, std::memory_order_seq_cst);
  }

  /// Awake again: wakes are free until the next announcement.
  void awake() noexcept { asleep_.store(false, std::memory_order_relaxed); }

  /// Empties the eventfd after a poll reported it.
  void drain() noexcept;

  /// Like wake(), but only if the sleeper would not wake by itself before `latest`: for work that may wait so long.
  bool wake_unless_before(Instant latest) noexcept {
    if (!asleep_.load(std::memory_order_seq_cst)) return false;
    if (until_ns_.load(std::memory_order_relaxed) <= to_ns(latest)) return false;
    return wake_sleeper();
  }

  /// Publish the work first (with a sequentially consistent store or read-modify-write), then call this. Writes at most
  /// once an announcement. Returns whether it wrote.
  bool wake() noexcept {
    if (!asleep_.load(std::memory_order_seq_cst)) return false;
    return wake_sleeper();
  }

 private:
  bool wake_sleeper() noexcept;

  Fd event_;
  std::atomic<bool> asleep_{false};
  std::atomic<std::int64_t> until_ns_{0};
};

}  // namespace m0::base
