#include "pace.hpp"

#include <gtest/gtest.h>

namespace m0::bench {
namespace {

using base::Duration;
using base::Instant;

TEST(Pace, KeepsItsRateWithoutKeepingStep) {
  constexpr Duration kInterval(1000);
  constexpr int kArrivals = 10'000;
  Pace pace(Instant{}, kInterval);
  int in_step = 0;
  Instant before = pace.next();
  for (int i = 0; i < kArrivals; ++i) {
    pace.advance();
    const Duration gap = pace.next() - before;
    ASSERT_GE(gap, kInterval / 2);
    ASSERT_LE(gap, kInterval * 3 / 2);
    in_step += gap == kInterval;
    before = pace.next();
  }
  EXPECT_NEAR(static_cast<double>((before - Instant{}).count()), 1000.0 * kArrivals, 0.02 * 1000 * kArrivals);
  EXPECT_LT(in_step, kArrivals / 10);
}

TEST(Pace, IsTheSameForEveryServer) {
  Pace one(Instant{}, Duration(1000));
  Pace other(Instant{}, Duration(1000));
  for (int i = 0; i < 100; ++i) {
    one.advance();
    other.advance();
    ASSERT_EQ(one.next(), other.next());
  }
}

TEST(Pace, AlwaysMovesOn) {
  Pace pace(Instant{}, Duration::zero());
  pace.advance();
  EXPECT_GT(pace.next(), Instant{});
}

}  // namespace
}  // namespace m0::bench
