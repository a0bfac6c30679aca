// Rules 1, 3 and 5: who wakes, who gives way, and that no wake is lost.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "m0/pool/lane_test_support.hpp"

namespace m0::pool {
namespace {

using namespace testing;

TEST(LaneWake, AnswersEveryJobOnce) {
  IntLane lane({.threads = 3, .max_threads = 3, .parallelism = 2});
  std::vector<int> expected(500);
  std::iota(expected.begin(), expected.end(), 0);
  for (const int job : expected) lane.submit(job);
  ASSERT_TRUE(lane.answered(500));
  std::vector<int> answers = lane.answers();
  std::sort(answers.begin(), answers.end());
  EXPECT_EQ(answers, expected);
}

// The watcher asks in the same turn, when the woken thread has not taken the job yet: that must not wake a second.
TEST(LaneWake, OneJobWakesOneOfManyParkedThreads) {
  IntLane lane({.threads = 4, .max_threads = 4, .parallelism = 4});
  for (int job = 0; job < 200; ++job) {
    lane.submit(job);
    lane.tend();
    ASSERT_TRUE(lane.answered(static_cast<std::size_t>(job) + 1));
    ASSERT_TRUE(lane.running_is(0));
  }
  // A thread that left the count and looks once more before it sleeps may find the next job and wake itself.
  EXPECT_GE(lane.wakes(), 200U);
  EXPECT_LE(lane.wakes(), 210U);
}

TEST(LaneWake, ABurstIntoAParkedLaneOfParallelismOneWakesOne) {
  IntLane lane({.threads = 8, .max_threads = 8});
  for (int job = 0; job < 100; ++job) ASSERT_TRUE(lane.push(job));
  lane.lane().wake();
  lane.tend();
  ASSERT_TRUE(lane.answered(100));
  ASSERT_TRUE(lane.running_is(0));
  EXPECT_EQ(lane.wakes(), 1U);
  EXPECT_EQ(lane.takers().size(), 1U);
}

TEST(LaneWake, ABurstWakesAsManyAsMayRun) {
  IntLane lane({.threads = 5, .max_threads = 5, .parallelism = 3});
  for (int job = 0; job < 5; ++job) {
    lane.close(job);
    ASSERT_TRUE(lane.push(job));
  }
  lane.lane().wake();
  for (int job = 0; job < 3; ++job) ASSERT_TRUE(lane.thread_of(job));
  lane.tend();
  EXPECT_EQ(lane.wakes(), 3U);
  EXPECT_EQ(lane.lane().running(), 3);
  EXPECT_EQ(lane.lane().waiting(), 2U);
  EXPECT_EQ(lane.takers().size(), 3U);
}

TEST(LaneWake, APushBesideARunningThreadWakesNone) {
  IntLane lane({.threads = 4, .max_threads = 4});
  const auto thread = lane.submit_blocker(0);
  for (int job = 1; job <= 3; ++job) lane.submit(job);
  lane.tend();
  EXPECT_EQ(lane.wakes(), 1U);
  EXPECT_EQ(lane.lane().waiting(), 3U);

  lane.open(0);
  ASSERT_TRUE(lane.answered(4));
  EXPECT_EQ(lane.wakes(), 1U);
  for (int job = 1; job <= 3; ++job) EXPECT_EQ(lane.thread_of(job), thread);
}

TEST(LaneWake, TheThreadParkedLastIsWokenFirst) {
  IntLane lane({.threads = 3, .max_threads = 3, .parallelism = 3});
  std::vector<std::optional<unsigned>> first;
  for (int job = 0; job < 3; ++job) first.push_back(lane.submit_blocker(job));
  int running = 3;
  for (const int job : {1, 0, 2}) {
    lane.open(job);
    ASSERT_TRUE(lane.running_is(--running));
  }
  EXPECT_EQ(lane.submit_blocker(3), first[2]);
  EXPECT_EQ(lane.submit_blocker(4), first[0]);
  EXPECT_EQ(lane.submit_blocker(5), first[1]);
}

TEST(LaneWake, TheQueueTakesExactlyItsBound) {
  for (const std::size_t bound : {std::size_t{1}, std::size_t{3}, std::size_t{8}}) {
    IntLane lane({.threads = 1, .max_threads = 1, .queue = bound});
    ASSERT_TRUE(lane.submit_blocker(0));  // taken: it does not wait any more
    for (std::size_t i = 0; i < bound; ++i) EXPECT_TRUE(lane.push(1)) << i << " of " << bound;
    EXPECT_FALSE(lane.push(2));
    EXPECT_EQ(lane.lane().counters().refused, 1U);
    EXPECT_EQ(lane.lane().waiting(), bound);
    lane.open(0);
    ASSERT_TRUE(lane.answered(bound + 1));
    EXPECT_TRUE(lane.push(3));
    lane.lane().wake();
    EXPECT_TRUE(lane.answered(bound + 2));
  }
}

// One thread blocks, is overtaken in the count by another, and comes back: it must not make two of one.
TEST(LaneWake, AThreadThatComesBackGivesWayWhileAnotherRuns) {
  IntLane lane({.threads = 2, .max_threads = 2});
  const auto first = lane.submit_blocker(0);
  lane.close(1);
  lane.submit(1);
  lane.tend_after(200us);
  lane.tend_after(200us);
  const auto second = lane.thread_of(1);
  ASSERT_NE(first, second);
  lane.submit(2);

  lane.open(0);
  ASSERT_TRUE(eventually([&] { return lane.lane().threads().anyone_parked(); }));  // both were awake before
  EXPECT_EQ(lane.told(), 1U);
  EXPECT_EQ(lane.lane().waiting(), 1U);
  ASSERT_TRUE(lane.running_is(1));
  EXPECT_FALSE(lane.was_taken(2));

  lane.open(1);
  EXPECT_EQ(lane.thread_of(2), second);
}

// The watcher looks for a parked thread between two steps of one that parks: it found the queue empty, and has neither
// announced itself nor left the count. The lane's clock, which it reads there, holds it.
TEST(LaneWake, AJobPushedWhileTheLastThreadParksIsTaken) {
  std::atomic<bool> armed{false};
  std::atomic<bool> parks{false};
  std::atomic<bool> pushed{false};
  std::atomic<int> answered{0};
  Lane<int> lane({.threads = 1, .max_threads = 1},
                 [&](LaneThread<int>& thread) {
                   while (thread.take()) {
                     ++answered;
                     static_cast<void>(thread.finished());
                     armed = true;  // the next reading is the one on the way to sleep
                   }
                 },
                 {.now = [&] {
                   if (armed.exchange(false)) {
                     parks = true;
                     static_cast<void>(eventually([&] { return pushed.load(); }));
                   }
                   return base::now();
                 }});
  ASSERT_TRUE(lane.start());
  EXPECT_TRUE(lane.push(0));
  lane.wake();
  EXPECT_TRUE(eventually([&] { return parks.load(); }));
  const std::uint64_t wakes = lane.counters().wakes;
  EXPECT_TRUE(lane.push(1));
  lane.wake();
  EXPECT_EQ(lane.counters().wakes, wakes) << "it counts as running: nobody is woken for the job";
  pushed = true;
  EXPECT_TRUE(eventually([&] { return answered.load() == 2; }));
  lane.stop();
  EXPECT_TRUE(lane.join_until(base::now() + kBound));
}

class LaneLostWake : public ::testing::TestWithParam<unsigned> {};

// Submitted while the thread that answered the last job goes to sleep, after a delay that wanders through its way
// there. Nobody tends the lane: that would find what was left behind.
TEST_P(LaneLostWake, AJobForAThreadThatHasJustParkedIsTaken) {
  std::atomic<int> answered{0};
  Lane<int> lane({.threads = GetParam(), .max_threads = GetParam(), .parallelism = GetParam()},
                 [&](LaneThread<int>& thread) {
                   while (thread.take()) {
                     ++answered;
                     static_cast<void>(thread.finished());
                   }
                 });
  ASSERT_TRUE(lane.start());
  for (int job = 0; job < 5'000; ++job) {
    EXPECT_TRUE(lane.push(job));
    lane.wake();
    const base::Instant deadline = base::now() + kBound;
    // No sleep: it would always come too late for the moment that matters.
    while (answered.load() == job && base::now() < deadline) spin(10);
    if (answered.load() == job) {
      ADD_FAILURE() << "job " << job << " was left behind";
      break;
    }
    spin(job % 500);
  }
  lane.stop();
  EXPECT_TRUE(lane.join_until(base::now() + kBound));
}

TEST_P(LaneLostWake, AJobForAThreadThatHasParkedIsTaken) {
  IntLane lane({.threads = GetParam(), .max_threads = GetParam(), .parallelism = GetParam()});
  for (int job = 0; job < 200; ++job) {
    lane.submit(job);
    ASSERT_TRUE(lane.answered(static_cast<std::size_t>(job) + 1)) << "job " << job << " was left behind";
    ASSERT_TRUE(lane.running_is(0));
  }
}

INSTANTIATE_TEST_SUITE_P(Parallelism, LaneLostWake, ::testing::Values(1U, 4U));

}  // namespace
}  // namespace m0::pool
