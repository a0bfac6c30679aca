#pragma once
// Wakes one sleeping thread (a loop) from any other through an eventfd, written only when the sleeper said it sleeps.

#include <atomic>

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
  void announce_sleep() noexcept { asleep_.store(true, std::memory_order_seq_cst); }

  /// Awake again: wakes are free until the next announcement.
  void awake() noexcept { asleep_.store(false, std::memory_order_relaxed); }

  /// Empties the eventfd after a poll reported it.
  void drain() noexcept;

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
};

}  // namespace m0::base
