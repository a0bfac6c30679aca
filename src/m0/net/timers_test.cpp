#include "m0/net/timers.hpp"

namespace m0::net {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart = base::from_ns(1'000'000'000'000);

TEST(TickClock, ExpiresAfterItsTimeoutAndNotBefore) {
  const TickClock clock(64s);
  const std::uint8_t since = clock.stamp(kStart);
  EXPECT_FALSE(clock.expired(since, kStart));
  EXPECT_FALSE(clock.expired(since, kStart + 63s));
  EXPECT_FALSE(clock.expired(since, kStart + 64s));
  EXPECT_TRUE(clock.expired(since, kStart + 66s));
}

TEST(TickClock, SaysSoForAlmostFourTimeoutsWhateverTheByteWrappedTo) {
  const TickClock clock(64s);
  for (int offset = 0; offset < 256; ++offset) {
    const base::Instant start = kStart + offset * 1s;
    const std::uint8_t since = clock.stamp(start);
    for (int age = 66; age < 255; ++age) ASSERT_TRUE(clock.expired(since, start + age * 1s)) << offset << " " << age;
  }
}

TEST(TickClock, ASweepEveryEighthMissesNothing) {
  for (const base::Duration timeout : {100ms, 300ms, 2000ms, 60'000ms}) {
    const TickClock clock(timeout);
    const std::uint8_t since = clock.stamp(kStart);
    base::Instant at = kStart;
    while (!clock.expired(since, at)) at += clock.sweep_every();
    EXPECT_GE(at - kStart, timeout);
    EXPECT_LE(at - kStart, timeout + timeout / 4);
  }
}

TEST(TickClock, ZeroNeverExpires) {
  const TickClock clock(0s);
  EXPECT_FALSE(clock.expired(clock.stamp(kStart), kStart + 1000h));
}

}  // namespace
}  // namespace m0::net
