#include "latencies.hpp"

#include <algorithm>
#include <cmath>

namespace m0::bench {

base::Duration Latencies::percentile(double share) {
  if (taken_.empty()) return {};
  if (!sorted_) std::ranges::sort(taken_);
  sorted_ = true;
  // The last bits of 0.99 * 300 are noise, which must not round up to the next rank.
  const double rank = std::ceil(share * static_cast<double>(taken_.size()) - 1e-9);
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return taken_[std::min(index, taken_.size() - 1)];
}

}  // namespace m0::bench
