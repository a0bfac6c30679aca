#pragma once
// One clock for everything that waits or measures: CLOCK_MONOTONIC.

#include <chrono>
#include <cstdint>

namespace m0::base {

using Clock = std::chrono::steady_clock;
using Instant = Clock::time_point;
using Duration = Clock::duration;  // nanoseconds

[[nodiscard]] inline Instant now() noexcept { return Clock::now(); }
[[nodiscard]] constexpr std::int64_t to_ns(Instant at) noexcept { return at.time_since_epoch().count(); }
[[nodiscard]] constexpr Instant from_ns(std::int64_t ns) noexcept { return Instant{Duration{ns}}; }

}  // namespace m0::base
