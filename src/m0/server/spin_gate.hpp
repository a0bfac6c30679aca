#pragma once
// Whether to look for an answer for some microseconds before going to sleep: only where that has paid lately.

#include <cstdint>

#include "m0/base/clock.hpp"

namespace m0::server {

/// A loop that sleeps has to be woken, which costs the pool thread some 8 us and the answer some 20 more; one job of
/// the smallest kind is done sooner. But a loop that looks in vain takes a processor from those who have work. So
/// every success makes it bolder and every failure much shyer, and a shy one tries rarely. The loop's thread.
class SpinGate {
 public:
  /// As long as waking and being woken would cost.
  static constexpr base::Duration kTime = std::chrono::microseconds(25);

  /// `possible`: the process has a processor for the loop beside the one that the job needs.
  explicit SpinGate(bool possible) noexcept : possible_(possible) {}

  /// Asked when the loop has nothing to do but to wait for an answer.
  [[nodiscard]] bool worth_trying() noexcept {
    if (!possible_) return false;
    if (trust_ > 0) return true;
    if (++skipped_ < kTryEvery) return false;
    skipped_ = 0;
    return true;
  }
  void tried(bool it_came) noexcept {
    if (it_came) {
      if (trust_ < kMostTrust) ++trust_;
    } else {
      trust_ = trust_ > kFailureCosts ? trust_ - kFailureCosts : 0;
    }
  }

 private:
  static constexpr unsigned kTryEvery = 64;
  static constexpr unsigned kMostTrust = 16;
  static constexpr unsigned kFailureCosts = 4;

  const bool possible_;
  unsigned trust_ = 0;
  unsigned skipped_ = 0;
};

}  // namespace m0::server
