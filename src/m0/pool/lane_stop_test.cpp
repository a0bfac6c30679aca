// The end of a lane: what was accepted is answered, and each thread leaves by a pill of its own.
#include <gtest/gtest.h>

#include "m0/pool/lane_test_support.hpp"

namespace m0::pool {
namespace {

using namespace testing;

TEST(LaneStop, ParkedThreadsLeave) {
  for (const unsigned parallelism : {1U, 4U}) {
    IntLane lane({.threads = 8, .max_threads = 8, .parallelism = parallelism});
    lane.stop();
    EXPECT_TRUE(lane.lane().join_until(base::now() + kBound));
    EXPECT_EQ(lane.left(), 8U);
    EXPECT_EQ(lane.lane().running(), 0);
    EXPECT_EQ(lane.lane().waiting(), 0U) << "one pill a thread, no more";
  }
}

TEST(LaneStop, JobsQueuedBeforeAreAnswered) {
  IntLane lane({.threads = 2, .max_threads = 2, .queue = 64});
  ASSERT_TRUE(lane.submit_blocker(0));
  for (int job = 1; job <= 64; ++job) lane.submit(job);  // the queue is full; the pills have room beyond it
  lane.stop();
  EXPECT_FALSE(lane.push(99));
  EXPECT_EQ(lane.left(), 0U);
  lane.open(0);
  EXPECT_TRUE(lane.lane().join_until(base::now() + kBound));
  EXPECT_EQ(lane.answers().size(), 65U);
  EXPECT_EQ(lane.left(), 2U);
}

TEST(LaneStop, NothingIsAcceptedAfterwards) {
  IntLane lane({.threads = 1, .max_threads = 1});
  lane.stop();
  EXPECT_FALSE(lane.push(0));
  EXPECT_EQ(lane.lane().counters().refused, 1U);
  EXPECT_TRUE(lane.lane().join_until(base::now() + kBound));
  EXPECT_FALSE(lane.was_taken(0));
}

TEST(LaneStop, ThreadsThatBlockLeaveWhenTheirJobsEnd) {
  IntLane lane({.threads = 3, .max_threads = 3});
  ASSERT_TRUE(lane.submit_blocker(0));
  lane.close(1);
  lane.submit(1);
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(1); }));
  lane.stop();
  // The watcher goes on: the second is found to be blocked, and the third thread gets its pill.
  EXPECT_TRUE(lane.run_loop_until([&] { return lane.left() == 1; }));
  EXPECT_FALSE(lane.lane().join_until(base::now() + 1ms));
  lane.open(1);
  EXPECT_TRUE(eventually([&] { return lane.left() == 2; }));
  lane.open(0);
  EXPECT_TRUE(lane.lane().join_until(base::now() + kBound));
}

TEST(LaneStop, ALaneThatGrewSendsAPillToEachThread) {
  IntLane lane({.threads = 1, .max_threads = 3});
  for (const int job : {0, 1, 2}) {
    lane.close(job);
    lane.submit(job);
  }
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(2); }));
  ASSERT_EQ(lane.lane().live(), 3U);
  lane.stop();
  lane.open_all();
  EXPECT_TRUE(lane.lane().join_until(base::now() + kBound));
  EXPECT_EQ(lane.left(), 3U);
}

TEST(LaneStop, AThreadOnItsWayIntoRetirementHoldsUpNothing) {
  IntLane lane({.threads = 1, .max_threads = 2, .retire_after = 1s});
  for (const int job : {0, 1}) {
    lane.close(job);
    lane.submit(job);
  }
  ASSERT_TRUE(lane.run_loop_until([&] { return lane.was_taken(1); }));
  lane.open(0);
  lane.open(1);
  ASSERT_TRUE(lane.answered(2));
  ASSERT_TRUE(lane.running_is(0));
  lane.tend_after(2s);
  ASSERT_EQ(lane.retired(), 1U);
  lane.stop();
  EXPECT_TRUE(lane.lane().join_until(base::now() + kBound));
  EXPECT_EQ(lane.left(), 2U);
  EXPECT_EQ(lane.lane().running(), 0);
}

/// A lane that can be stopped with the wrong number of pills.
class ShortOfPills : public Lane<int> {
 public:
  using Lane::Lane;
  using Lane::stop_with;
};

// On Linux this can be seen with threads alone: nothing but a pill wakes a thread that waits for one.
TEST(LaneStop, EachThreadGetsAPill) {
  ShortOfPills lane({.threads = 3, .max_threads = 3, .parallelism = 2}, [](LaneThread<int>& thread) {
    while (thread.take()) static_cast<void>(thread.finished());
  });
  ASSERT_TRUE(lane.start());
  ASSERT_TRUE(eventually([&] { return lane.starting() == 0 && lane.running() == 0; }));
  lane.stop();
  EXPECT_TRUE(lane.join_until(base::now() + 5s)) << lane.live() << " threads wait for a pill that was not sent";
  // So that a lane that sent one too few fails here and does not hang.
  while (lane.live() > 0) {
    lane.stop_with(1);
    static_cast<void>(lane.join_until(base::now() + 1s));
  }
}

TEST(LaneStop, WithOnePillFewerAThreadStays) {
  std::atomic<unsigned> left{0};
  ShortOfPills lane({.threads = 3, .max_threads = 3, .parallelism = 2}, [&](LaneThread<int>& thread) {
    while (thread.take()) static_cast<void>(thread.finished());
    ++left;
  });
  ASSERT_TRUE(lane.start());
  ASSERT_TRUE(eventually([&] { return lane.starting() == 0 && lane.running() == 0; }));

  lane.stop_with(2);
  ASSERT_TRUE(eventually([&] {
    lane.threads().reap();
    return lane.live() == 1;
  }));
  // The last one sleeps, and nothing in the queue could wake it.
  EXPECT_TRUE(eventually([&] { return lane.running() == 0; }));
  EXPECT_EQ(lane.waiting(), 0U);
  EXPECT_FALSE(lane.join_until(base::now() + 100ms));
  EXPECT_EQ(left, 2U);

  lane.stop_with(1);
  EXPECT_TRUE(lane.join_until(base::now() + kBound));
  EXPECT_EQ(left, 3U);
}

}  // namespace
}  // namespace m0::pool
