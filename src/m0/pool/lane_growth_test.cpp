// Rule 4: threads come while every one is blocked, and go when they idle.
#include <gtest/gtest.h>

#include "m0/pool/lane_test_support.hpp"

namespace m0::pool {
namespace {

using namespace testing;

/// So many jobs that block, each in a thread of its own, all known to be blocked; and one more that waits.
void block_all(IntLane& lane, int first, int count) {
  const std::uint64_t before = lane.blocked();
  for (int job = first; job < first + count; ++job) {
    lane.close(job);
    lane.submit(job);
    ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(job); }));
  }
  lane.close(first + count);
  lane.submit(first + count);
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.blocked() >= before + static_cast<unsigned>(count); }));
}

TEST(LaneGrowth, AddsAThreadWhenEveryOneIsBlockedAndAJobWaits) {
  IntLane lane({.threads = 2, .max_threads = 4});
  block_all(lane, 0, 2);
  EXPECT_TRUE(lane.run_loop_until([&] { return lane.was_taken(2); }));
  EXPECT_EQ(lane.grown(), 1U);
  EXPECT_EQ(lane.lane().live(), 3U);
  EXPECT_EQ(lane.takers().size(), 3U);
}

TEST(LaneGrowth, AddsNoneWhileNoJobWaits) {
  IntLane lane({.threads = 2, .max_threads = 4});
  block_all(lane, 0, 2);
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(2); }));
  for (int turn = 0; turn < 20; ++turn) lane.tend_after(1ms);
  EXPECT_EQ(lane.grown(), 1U);
}

TEST(LaneGrowth, StopsAtItsMaximum) {
  IntLane lane({.threads = 1, .max_threads = 3});
  for (int job = 0; job < 6; ++job) {
    lane.close(job);
    lane.submit(job);
  }
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.blocked() == 3; }));
  for (int turn = 0; turn < 20; ++turn) lane.tend_after(1ms);
  EXPECT_EQ(lane.grown(), 2U);
  EXPECT_EQ(lane.lane().live(), 3U);
  EXPECT_EQ(lane.lane().waiting(), 3U);
}

TEST(LaneGrowth, NeverHappensWhereTheNumberIsFixed) {
  IntLane lane({.threads = 2, .max_threads = 2});
  for (int job = 0; job < 4; ++job) {
    lane.close(job);
    lane.submit(job);
  }
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.blocked() == 2; }));
  for (int turn = 0; turn < 20; ++turn) lane.tend_after(1ms);
  EXPECT_EQ(lane.grown(), 0U);
  EXPECT_EQ(lane.lane().live(), 2U);
}

TEST(LaneGrowth, AnOvertakenThreadIsNoReasonToGrow) {
  IntLane lane({.threads = 2, .max_threads = 4});
  const auto burner = lane.submit_blocker(0);
  ASSERT_TRUE(burner);
  for (const int job : {1, 2}) {
    lane.close(job);
    lane.submit(job);
  }
  // The first burns, too little to keep the lane from growing, and is overtaken; the second blocks; the third job
  // waits.
  for (int turn = 0; turn < 400; ++turn) {
    lane.time.burn(*burner, 40us);
    lane.tend_after(250us);
    if (turn == 10) {
      ASSERT_TRUE(lane.thread_of(1));
    }
  }
  EXPECT_EQ(lane.overtaken(), 1U);
  EXPECT_EQ(lane.blocked(), 1U);
  EXPECT_EQ(lane.grown(), 0U);
  EXPECT_EQ(lane.lane().waiting(), 1U);

  // It stands still now.
  EXPECT_TRUE(lane.run_loop_until([&] { return lane.was_taken(2); }));
  EXPECT_EQ(lane.grown(), 1U);
}

// Waiters for an interpreter lock look blocked while one of them, marked long ago, burns CPU with it.
TEST(LaneGrowth, HappensOnlyWhileTheThreadsLeaveTheProcessorAlone) {
  IntLane lane({.threads = 2, .max_threads = 4});
  block_all(lane, 0, 2);
  for (int turn = 0; turn < 400; ++turn) {
    lane.time.burn(0, 200us);
    lane.tend_after(250us);
  }
  EXPECT_EQ(lane.grown(), 0U);
  EXPECT_TRUE(lane.run_loop_until([&] { return lane.was_taken(2); }));
  EXPECT_EQ(lane.grown(), 1U);
}

TEST(LaneGrowth, MeetsABurstInAFewSteps) {
  IntLane lane({.threads = 8, .max_threads = 64});
  block_all(lane, 0, 8);
  for (int job = 9; job < 40; ++job) {
    lane.close(job);
    lane.submit(job);
  }
  // Steps, not time: the lane's clock runs ahead of threads that a busy machine starts late.
  int steps = 0;
  std::uint64_t grown = lane.grown();
  ASSERT_TRUE(lane.run_loop_until([&] {
    if (std::exchange(grown, lane.grown()) != lane.grown()) ++steps;
    return lane.was_taken(39);
  }));
  EXPECT_LE(steps, 10);
  EXPECT_LE(lane.grown(), 40U);
}

// No thread is to be had: the lane goes on with those it has, and does not ask at every turn.
TEST(LaneGrowth, ASystemWithoutThreadsIsAskedAgainLater) {
  EXPECT_TRUE(holds_in_child([] {
    IntLane lane({.threads = 1, .max_threads = 2});
    if (!lane.submit_blocker(0) || !allow_no_more_threads()) return false;
    lane.submit(1);
    if (!lane.run_loop_until([&] { return lane.blocked() == 1; })) return false;
    static_cast<void>(lane.tend());
    lane.time.advance(2 * GrowthGate::kWindow);
    const base::Instant failed = lane.time.now();
    const bool later = lane.tend() == failed + kLookEvery && lane.tend_after(1ms) == failed + kLookEvery;
    lane.open(0);
    return later && lane.thread_of(1) == 0U && lane.grown() == 0;
  }));
}

TEST(LaneGrowth, AnExtraThreadRetiresWhenItIdledLongEnoughAndNotBefore) {
  IntLane lane({.threads = 2, .max_threads = 4, .retire_after = 60s});
  block_all(lane, 0, 3);
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(3); }));
  ASSERT_EQ(lane.lane().live(), 4U);
  lane.open_all();
  ASSERT_TRUE(lane.answered(4));
  ASSERT_TRUE(lane.running_is(0));

  EXPECT_LE(lane.tend(), lane.time.now() + 60s) << "an idle loop has to come back for them";
  const base::Instant idle_since = lane.time.now();
  while (lane.time.now() < idle_since + 59s) lane.tend_after(500ms);
  EXPECT_EQ(lane.retired(), 0U);
  EXPECT_EQ(lane.lane().live(), 4U);

  ASSERT_TRUE(lane.run_loop_until([&] { return lane.retired() == 2; }));
  EXPECT_LE(lane.time.now(), idle_since + 60s + 8s);
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.lane().live() == 2; }));
  for (int turn = 0; turn < 20; ++turn) lane.tend_after(30s);
  EXPECT_EQ(lane.lane().live(), 2U) << "the threads that are kept never retire";
}

TEST(LaneGrowth, ABusyExtraThreadStays) {
  IntLane lane({.threads = 1, .max_threads = 2, .retire_after = 1s});
  block_all(lane, 0, 1);
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(1); }));
  ASSERT_EQ(lane.lane().live(), 2U);
  for (int turn = 0; turn < 40; ++turn) lane.tend_after(100ms);
  EXPECT_EQ(lane.retired(), 0U);
  EXPECT_EQ(lane.lane().live(), 2U);
}

// A thread that takes its time to leave is told once; it must not be counted as surplus again and again.
TEST(LaneGrowth, RetirementNeverGoesBelowWhatIsKept) {
  IntLane lane({.threads = 2, .max_threads = 3, .retire_after = 1s});
  block_all(lane, 0, 2);
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(2); }));
  lane.hold_leavers();
  for (const int job : {0, 1, 2}) lane.open(job);
  ASSERT_TRUE(lane.answered(3));
  ASSERT_TRUE(lane.running_is(0));
  for (int turn = 0; turn < 40; ++turn) lane.tend_after(500ms);
  EXPECT_EQ(lane.retired(), 1U);
  ASSERT_TRUE(eventually([&] { return lane.left() == 1; }));
  EXPECT_EQ(lane.tend(), lane.time.now() + kLookEvery) << "it does not say when it has left; somebody has to look";

  // Two are there and work.
  const auto first = lane.submit_blocker(10);
  lane.close(11);
  lane.submit(11);
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(11); }));
  EXPECT_NE(lane.thread_of(11), first);
}

TEST(LaneGrowth, AThreadOnItsWayOutIsNotWaitedFor) {
  IntLane lane({.threads = 1, .max_threads = 3, .retire_after = 1s});
  block_all(lane, 0, 1);
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(1); }));
  lane.hold_leavers();
  lane.open(0);
  lane.open(1);
  ASSERT_TRUE(lane.answered(2));
  ASSERT_TRUE(lane.running_is(0));
  lane.tend_after(2s);
  ASSERT_EQ(lane.retired(), 1U);
  block_all(lane, 2, 1);
  EXPECT_TRUE(lane.run_loop_until([&] { return lane.was_taken(3); }));
  EXPECT_EQ(lane.grown(), 2U);
  EXPECT_EQ(lane.lane().live(), 3U);
}

TEST(LaneGrowth, ASlotIsUsedAgainAfterRetirement) {
  IntLane lane({.threads = 1, .max_threads = 2, .retire_after = 1s});
  int job = 0;
  for (int round = 1; round <= 5; ++round) {
    block_all(lane, job, 1);
    ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(job + 1); })) << "round " << round;
    ASSERT_EQ(lane.grown(), static_cast<unsigned>(round));
    lane.open(job);
    lane.open(job + 1);
    job += 2;
    ASSERT_TRUE(lane.answered(static_cast<std::size_t>(job)));
    ASSERT_TRUE(lane.running_is(0));
    ASSERT_TRUE(lane.run_loop_until([&] { return lane.lane().live() == 1; }));
    ASSERT_EQ(lane.retired(), static_cast<unsigned>(round));
  }
  EXPECT_LE(lane.takers().size(), 2U);
}

// Retired a moment ago, wanted again: the lane grows as soon as there is a slot, not when it next thinks of retirement.
TEST(LaneGrowth, GrowsAgainRightAfterRetirement) {
  IntLane lane({.threads = 1, .max_threads = 2, .retire_after = 1h});
  block_all(lane, 0, 1);
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(1); }));
  lane.open(0);
  lane.open(1);
  ASSERT_TRUE(lane.answered(2));
  ASSERT_TRUE(lane.running_is(0));
  lane.tend_after(2h);
  ASSERT_EQ(lane.retired(), 1U);
  ASSERT_TRUE(eventually([&] { return lane.left() == 1; }));

  const base::Instant then = lane.time.now();
  block_all(lane, 2, 1);
  EXPECT_TRUE(lane.run_loop_until([&] { return lane.was_taken(3); }));
  EXPECT_LE(lane.time.now() - then, 5min);
}

}  // namespace
}  // namespace m0::pool
