#include "m0/pool/wake_policy.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace m0::pool {
namespace {

using namespace std::chrono_literals;
using base::Duration;
using base::Instant;

constexpr Instant kBegan = base::from_ns(1'000'000'000);

TEST(RunningCount, ReservesUpToItsParallelismOnly) {
  RunningCount count(2);
  EXPECT_TRUE(count.try_reserve());
  EXPECT_TRUE(count.try_reserve());
  EXPECT_FALSE(count.try_reserve());
  EXPECT_EQ(count.running(), 2);
  count.leave();
  EXPECT_TRUE(count.try_reserve());
}

TEST(RunningCount, AThreadMayContinueWhileNoMoreThanParallelismRun) {
  RunningCount count(1);
  count.join();
  EXPECT_TRUE(count.may_continue());
  count.join();  // one that came back from blocking
  EXPECT_FALSE(count.may_continue());
  EXPECT_FALSE(count.try_reserve());
  count.leave();
  EXPECT_TRUE(count.may_continue());
}

TEST(RunningCount, ConcurrentReservationsNeverExceedIt) {
  RunningCount count(3);
  std::atomic<int> highest{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5'000; ++i) {
        if (!count.try_reserve()) continue;
        int seen = highest.load();
        const int now = count.running();
        while (now > seen && !highest.compare_exchange_weak(seen, now)) {
        }
        count.leave();
      }
    });
  }
  threads.clear();
  EXPECT_LE(highest.load(), 3);
  EXPECT_GE(highest.load(), 1);
  EXPECT_EQ(count.running(), 0);
}

TEST(Look, IsDueAtTheAgesAndThenAtRegularIntervals) {
  Look look;
  std::vector<Duration> ages;
  Instant due = look.due(1, kBegan);
  for (int i = 0; i < 8; ++i) {
    ages.push_back(due - kBegan);
    // A clock that moves as fast as time: never still.
    static_cast<void>(look.judge(1, kBegan, due, due - kBegan));
    due = look.due(1, kBegan);
  }
  EXPECT_EQ(ages, (std::vector<Duration>{200us, 400us, 1ms, 5ms, 25ms, 50ms, 75ms, 100ms}));
}

TEST(Look, FollowsALateFirstLookSoon) {
  Look look;
  EXPECT_EQ(look.judge(1, kBegan, kBegan + 30ms, 0ms), Occupation::Overtaken);
  EXPECT_EQ(look.due(1, kBegan), kBegan + 30ms + 200us);
  EXPECT_EQ(look.judge(1, kBegan, kBegan + 30ms + 200us, 0ms), Occupation::Blocked);
}

TEST(Look, NeverTakesTwoReadingsTooCloseTogether) {
  Look look;
  static_cast<void>(look.judge(1, kBegan, kBegan + 200us, 200us));
  static_cast<void>(look.judge(1, kBegan, kBegan + 950us, 950us));
  EXPECT_EQ(look.due(1, kBegan), kBegan + 950us + kLeastBetweenLooks);
}

TEST(Look, BeginsAnewWithTheNextJob) {
  Look look;
  static_cast<void>(look.judge(1, kBegan, kBegan + 200us, 0ms));
  const Instant next = kBegan + 300us;
  EXPECT_EQ(look.due(2, next), next + 200us);
  // The reading of the job before says nothing about this one.
  EXPECT_EQ(look.judge(2, next, next + 200us, 0ms), Occupation::Running);
  EXPECT_EQ(look.judge(2, next, next + 400us, 0ms), Occupation::Blocked);
}

TEST(Look, OneReadingNeverMeansBlocked) {
  Look look;
  EXPECT_EQ(look.judge(1, kBegan, kBegan + 200us, 0ms), Occupation::Running);
}

TEST(Look, AClockThatMovedLessThanATwentiethStoodStill) {
  Look waiter;
  static_cast<void>(waiter.judge(1, kBegan, kBegan + 200us, 50us));
  EXPECT_EQ(waiter.judge(1, kBegan, kBegan + 400us, 50us + 9999ns), Occupation::Blocked);

  Look worker;
  static_cast<void>(worker.judge(1, kBegan, kBegan + 200us, 50us));
  EXPECT_EQ(worker.judge(1, kBegan, kBegan + 400us, 50us + 10us), Occupation::Running);
}

TEST(Look, AJobThatBurnsIsOvertakenAtOneMillisecondAndNotBefore) {
  Look look;
  EXPECT_EQ(look.judge(1, kBegan, kBegan + 200us, 200us), Occupation::Running);
  EXPECT_EQ(look.judge(1, kBegan, kBegan + 400us, 400us), Occupation::Running);
  EXPECT_EQ(look.judge(1, kBegan, kBegan + 999us, 999us), Occupation::Running);
  EXPECT_EQ(look.judge(1, kBegan, kBegan + 1ms, 1ms), Occupation::Overtaken);
}

TEST(Look, AnOvertakenJobThatThenStandsStillIsBlocked) {
  Look look;
  static_cast<void>(look.judge(1, kBegan, kBegan + 200us, 200us));
  EXPECT_EQ(look.judge(1, kBegan, kBegan + 1ms, 1ms), Occupation::Overtaken);
  EXPECT_EQ(look.judge(1, kBegan, kBegan + 5ms, 1ms), Occupation::Blocked);
}

}  // namespace
}  // namespace m0::pool
