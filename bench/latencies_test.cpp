#include "latencies.hpp"

#include <gtest/gtest.h>

namespace m0::bench {
namespace {

using base::Duration;

/// 1 ns to `count` ns, the longest first.
Latencies down_from(int count) {
  Latencies latencies;
  for (int i = count; i > 0; --i) latencies.add(Duration(i));
  return latencies;
}

TEST(Latencies, NoneAreZero) {
  Latencies latencies;
  EXPECT_EQ(latencies.count(), 0U);
  EXPECT_EQ(latencies.percentile(0.5), Duration::zero());
}

TEST(Latencies, APercentileIsTheLeastThatTheShareDoesNotExceed) {
  Latencies latencies = down_from(300);
  EXPECT_EQ(latencies.percentile(0.5), Duration(150));
  EXPECT_EQ(latencies.percentile(0.99), Duration(297));
  EXPECT_EQ(latencies.percentile(1), Duration(300));
  EXPECT_EQ(latencies.percentile(0), Duration(1));
}

TEST(Latencies, AHighPercentileOfFewIsTheirMaximum) {
  EXPECT_EQ(down_from(99).percentile(0.99), Duration(99));
  EXPECT_EQ(down_from(100).percentile(0.99), Duration(99));
  EXPECT_EQ(down_from(1).percentile(0.5), Duration(1));
}

TEST(Latencies, ALatencyThatIsAddedLaterCounts) {
  Latencies latencies = down_from(2);
  EXPECT_EQ(latencies.percentile(1), Duration(2));
  latencies.add(std::chrono::microseconds(3));
  latencies.add(Duration(1));
  EXPECT_EQ(latencies.count(), 4U);
  EXPECT_DOUBLE_EQ(latencies.percentile_us(1), 3);
  EXPECT_DOUBLE_EQ(latencies.percentile_ms(1), 0.003);
  EXPECT_EQ(latencies.percentile(0.5), Duration(1));
}

}  // namespace
}  // namespace m0::bench
