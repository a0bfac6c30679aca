#pragma once
// Puts one thread to sleep until another wakes it: a futex word, so that thread sanitizer sees plain atomics and a wait
// can have a bound.

#include <atomic>
#include <cstdint>

#include "m0/base/clock.hpp"

namespace m0::base {

/// wait() and wait_until(): the owner. wake(): any thread. A wake before the wait is kept (one token).
class Parker {
 public:
  void wait() noexcept;
  /// False when the time came first; no token was taken then.
  bool wait_until(Instant deadline) noexcept;
  void wake() noexcept;

 private:
  static constexpr std::uint32_t kEmpty = 0;
  static constexpr std::uint32_t kToken = 1;
  static constexpr std::uint32_t kWaiting = 2;

  bool take_token() noexcept;

  std::atomic<std::uint32_t> word_{kEmpty};
};

}  // namespace m0::base
