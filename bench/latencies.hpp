#pragma once
// What a measuring client collects.

#include <cstddef>
#include <vector>

#include "m0/base/clock.hpp"

namespace m0::bench {

/// Latencies and their percentiles. One thread.
class Latencies {
 public:
  void add(base::Duration latency) {
    taken_.push_back(latency);
    sorted_ = false;
  }
  [[nodiscard]] std::size_t count() const noexcept { return taken_.size(); }

  /// Nearest rank: the least latency that a `share` of them (0 to 1) does not exceed; zero where there is none. So the
  /// p99 of fewer than a hundred is their maximum: never less than the true one.
  [[nodiscard]] base::Duration percentile(double share);
  [[nodiscard]] double percentile_us(double share) {
    return std::chrono::duration<double, std::micro>(percentile(share)).count();
  }
  [[nodiscard]] double percentile_ms(double share) { return percentile_us(share) / 1000; }

 private:
  std::vector<base::Duration> taken_;
  bool sorted_ = true;
};

}  // namespace m0::bench
