// Rule 2: what the watcher finds out about jobs that others wait behind.
#include <gtest/gtest.h>

#include <vector>

#include "m0/pool/lane_test_support.hpp"

namespace m0::pool {
namespace {

using namespace testing;

TEST(LaneWatch, AClockThatStandsStillWakesAnotherThreadAtTheSecondLook) {
  IntLane lane({.threads = 2, .max_threads = 2});
  const auto blocker = lane.submit_blocker(0);
  const base::Instant began = lane.time.now();
  lane.submit(1);

  EXPECT_EQ(lane.tend(), began + 200us);
  EXPECT_EQ(lane.tend_after(199us), began + 200us);
  EXPECT_EQ(lane.time.cpu_calls(), 0U);

  EXPECT_EQ(lane.tend_after(1us), began + 400us);
  EXPECT_EQ(lane.time.cpu_calls(), 1U);
  EXPECT_EQ(lane.tend_after(199us), began + 400us);
  EXPECT_EQ(lane.blocked(), 0U);
  EXPECT_EQ(lane.wakes(), 1U);

  lane.tend_after(1us);
  EXPECT_EQ(lane.time.cpu_calls(), 2U);
  EXPECT_EQ(lane.blocked(), 1U);
  EXPECT_EQ(lane.wakes(), 2U);
  EXPECT_NE(lane.thread_of(1), blocker);
  ASSERT_TRUE(lane.answered(1));
}

TEST(LaneWatch, AJobThatBurnsIsOvertakenAtOneMillisecondAndNotBefore) {
  IntLane lane({.threads = 2, .max_threads = 2});
  const auto burner = lane.submit_blocker(0);
  ASSERT_TRUE(burner);
  lane.submit(1);
  for (const base::Duration step : {200us, 200us, 300us, 299us}) {
    lane.time.burn(*burner, step);
    lane.tend_after(step);
    ASSERT_EQ(lane.wakes(), 1U) << "at " << (lane.time.now() - base::from_ns(1'000'000'000)).count() << " ns";
  }
  EXPECT_EQ(lane.overtaken(), 0U);

  lane.time.burn(*burner, 1us);
  lane.tend_after(1us);
  EXPECT_EQ(lane.overtaken(), 1U);
  EXPECT_EQ(lane.blocked(), 0U);
  EXPECT_EQ(lane.wakes(), 2U);
  EXPECT_NE(lane.thread_of(1), burner);
}

TEST(LaneWatch, LooksAtItsAgesAndThenEvery25Milliseconds) {
  IntLane lane({.threads = 1, .max_threads = 1});
  const auto burner = lane.submit_blocker(0);
  ASSERT_TRUE(burner);
  const base::Instant began = lane.time.now();
  lane.submit(1);
  std::vector<base::Duration> ages;
  base::Instant next = lane.tend();
  for (unsigned look = 1; look <= 8; ++look) {
    ages.push_back(next - began);
    lane.time.burn(*burner, next - lane.time.now());
    lane.time.advance_to(next);
    next = lane.tend();
    ASSERT_EQ(lane.time.cpu_calls(), look);
  }
  EXPECT_EQ(ages, (std::vector<base::Duration>{200us, 400us, 1ms, 5ms, 25ms, 50ms, 75ms, 100ms}));
}

TEST(LaneWatch, AWaiterThatMovesLessThanATwentiethIsBlocked) {
  for (const base::Duration moved : {base::Duration{9999ns}, base::Duration{10us}}) {
    IntLane lane({.threads = 2, .max_threads = 2});
    const auto waiter = lane.submit_blocker(0);
    ASSERT_TRUE(waiter);
    lane.submit(1);
    lane.time.burn(*waiter, 100us);
    lane.tend_after(200us);
    lane.time.burn(*waiter, moved);
    lane.tend_after(200us);
    EXPECT_EQ(lane.blocked(), moved < 10us ? 1U : 0U) << moved.count() << " ns";
  }
}

TEST(LaneWatch, AnOvertakenJobThatThenStandsStillLeavesTheCountOnce) {
  IntLane lane({.threads = 2, .max_threads = 2});
  const auto first = lane.submit_blocker(0);
  ASSERT_TRUE(first);
  lane.close(1);
  lane.submit(1);
  lane.submit(2);
  for (const base::Duration step : {base::Duration{200us}, base::Duration{200us}, base::Duration{600us}}) {
    lane.time.burn(*first, step);
    lane.tend_after(step);
  }
  ASSERT_TRUE(lane.thread_of(1));
  EXPECT_EQ(lane.overtaken(), 1U);
  EXPECT_EQ(lane.lane().running(), 1);  // the second

  // The second is looked at for the first time at 4 ms, while the first is found to stand still.
  lane.tend_after(4ms);
  EXPECT_EQ(lane.blocked(), 1U);
  EXPECT_EQ(lane.overtaken(), 2U);
  EXPECT_EQ(lane.lane().running(), 0);
}

// A lane that keeps up costs no system call, however often its watcher comes by.
TEST(LaneWatch, LanesThatFlowAreNeverLookedAt) {
  IntLane lane({.threads = 4, .max_threads = 4});
  for (int round = 0; round < 50; ++round) {
    const int first = round * 10;
    ASSERT_TRUE(lane.submit_blocker(first));
    for (int job = first + 1; job < first + 10; ++job) lane.submit(job);
    lane.tend();
    lane.tend_after(100us);
    lane.tend_after(99us);
    lane.open(first);
    ASSERT_TRUE(lane.answered(static_cast<std::size_t>(first) + 10));
    ASSERT_TRUE(lane.running_is(0));
  }
  EXPECT_EQ(lane.time.cpu_calls(), 0U);
  EXPECT_EQ(lane.wakes(), 50U);
}

TEST(LaneWatch, NobodyIsLookedAtWhileNoJobWaits) {
  IntLane lane({.threads = 2, .max_threads = 2});
  ASSERT_TRUE(lane.submit_blocker(0));
  EXPECT_EQ(lane.tend_after(1s), base::Instant::max());
  EXPECT_EQ(lane.time.cpu_calls(), 0U);
  EXPECT_EQ(lane.blocked(), 0U);
}

// An old job that nobody waited behind is measured from the first look on, not condemned at once.
TEST(LaneWatch, AnOldJobGetsTwoLooksToo) {
  IntLane lane({.threads = 2, .max_threads = 2});
  ASSERT_TRUE(lane.submit_blocker(0));
  lane.time.advance(700us);
  lane.submit(1);
  const base::Instant now = lane.time.now();
  EXPECT_EQ(lane.tend(), now + 200us);
  EXPECT_EQ(lane.blocked(), 0U);
  lane.tend_after(200us);
  EXPECT_EQ(lane.blocked(), 1U);
  EXPECT_TRUE(lane.thread_of(1));
}

TEST(LaneWatch, AChainOfBlockersIsOvercomeOneByOne) {
  IntLane lane({.threads = 8, .max_threads = 8});
  for (int job = 0; job < 7; ++job) {
    lane.close(job);
    lane.submit(job);
  }
  lane.submit(7);
  EXPECT_TRUE(lane.run_loop_until([&] { return lane.was_taken(7); }));
  EXPECT_EQ(lane.blocked(), 7U);
  EXPECT_EQ(lane.wakes(), 8U);
  EXPECT_EQ(lane.takers().size(), 8U);
}

// A job that is only seen to be blocked when nobody is parked: were it not, its thread would count as running, and the
// next thread to finish would give way to it and leave the queue alone.
TEST(LaneWatch, AThreadThatFinishesDoesNotGiveWayToOneThatBlocksUnseen) {
  IntLane lane({.threads = 2, .max_threads = 2});
  ASSERT_TRUE(lane.submit_blocker(0));
  lane.close(1);
  lane.submit(1);
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(1); }));
  lane.submit(2);  // both threads are inside jobs that block
  lane.open(0);
  EXPECT_TRUE(lane.run_loop_until([&] { return lane.was_taken(2); }));
}

// All threads are known to be blocked, and the watcher sleeps. One finishes and takes a job that blocks as well: it has
// to be watched again.
TEST(LaneWatch, AThreadThatComesBackIsWatchedAgain) {
  IntLane lane({.threads = 2, .max_threads = 2});
  for (const int job : {0, 1, 2, 3, 4}) {
    lane.close(job);
    lane.submit(job);
  }
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.blocked() == 2; }));
  EXPECT_EQ(lane.tend(), base::Instant::max());
  lane.open(0);
  EXPECT_TRUE(lane.run_loop_until([&] { return lane.blocked() == 3; }));
  lane.open(1);
  EXPECT_TRUE(lane.run_loop_until([&] { return lane.blocked() == 4; }));
  EXPECT_EQ(lane.told(), 2U);
}

// The job ends, and its thread takes the next one, between the watcher's look at the thread and its verdict.
TEST(LaneWatch, AVerdictNeverFallsOnTheNextJob) {
  IntLane lane({.threads = 1, .max_threads = 1});
  ASSERT_TRUE(lane.submit_blocker(0));
  for (const int job : {1, 2}) {
    lane.close(job);
    lane.submit(job);
  }
  lane.tend_after(200us);
  lane.time.during_next_reading = [&] {
    lane.open(0);
    EXPECT_TRUE(lane.thread_of(1));
  };
  lane.tend_after(200us);
  EXPECT_EQ(lane.time.cpu_calls(), 2U);
  EXPECT_EQ(lane.blocked(), 0U);
  EXPECT_EQ(lane.lane().running(), 1);
}

TEST(LaneWatch, OnlyAJobThatWasSeenToBlockTellsTheWatcher) {
  IntLane lane({.threads = 2, .max_threads = 2});
  for (int job = 0; job < 100; ++job) lane.submit(job);
  ASSERT_TRUE(lane.answered(100));
  ASSERT_TRUE(lane.running_is(0));
  EXPECT_EQ(lane.told(), 0U);
}

}  // namespace
}  // namespace m0::pool
