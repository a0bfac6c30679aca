#pragma once
// Deadlines without a timer each: one byte in whatever waits, compared when somebody sweeps by.

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "m0/base/clock.hpp"

namespace m0::net {

/// One kind of timeout. A stamp is the time of the last progress in 64ths of the timeout, modulo 256: it says for up
/// to four timeouts how long ago that was, so a sweep every timeout/8 misses nothing. Precision: one 64th late.
class TickClock {
 public:
  static constexpr unsigned kTicks = 64;

  /// Zero or less: never expires.
  explicit TickClock(base::Duration timeout) noexcept
      : unit_(std::max<std::int64_t>(timeout.count() / kTicks, 1)), enabled_(timeout.count() > 0) {}

  [[nodiscard]] std::uint8_t stamp(base::Instant now) const noexcept {
    return static_cast<std::uint8_t>(base::to_ns(now) / unit_);
  }
  [[nodiscard]] bool expired(std::uint8_t since, base::Instant now) const noexcept {
    return enabled_ && static_cast<std::uint8_t>(stamp(now) - since) > kTicks;
  }
  /// How often to sweep for this kind.
  [[nodiscard]] base::Duration sweep_every() const noexcept {
    if (!enabled_) return std::chrono::seconds(1);
    return std::clamp<base::Duration>(base::Duration{unit_ * (kTicks / 8)}, std::chrono::milliseconds(5),
                                      std::chrono::seconds(1));
  }

 private:
  std::int64_t unit_;
  bool enabled_;
};

}  // namespace m0::net
