#pragma once
// When an open-loop client asks: at times that were fixed before anything was answered.

#include <algorithm>
#include <chrono>
#include <random>

#include "m0/base/clock.hpp"

namespace m0::bench {

/// Arrivals at a fixed rate, the same for every server. Each follows the one before after half to one and a half
/// intervals, so that the pace cannot fall in step with what it runs beside. One thread.
class Pace {
 public:
  Pace(base::Instant first, base::Duration interval) : next_(first), interval_(interval) {}

  [[nodiscard]] base::Instant next() const noexcept { return next_; }

  void advance() {
    const double share = std::uniform_real_distribution(0.5, 1.5)(random_);
    // At least a nanosecond: who waits for the next arrival to be later than now must come to an end.
    next_ += std::max(base::Duration(1), std::chrono::duration_cast<base::Duration>(share * interval_));
  }

 private:
  std::mt19937_64 random_{20260101};
  base::Instant next_;
  base::Duration interval_;
};

}  // namespace m0::bench
