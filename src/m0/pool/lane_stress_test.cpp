// Real clocks, real blockers, and a watcher that comes back only when it was asked to: every job is answered.
#include <gtest/gtest.h>

#include <atomic>
#include <ostream>
#include <random>
#include <vector>

#include "m0/base/parker.hpp"
#include "m0/pool/lane_test_support.hpp"

namespace m0::pool {
namespace {

using namespace testing;

struct Shape {
  unsigned threads;
  unsigned max_threads;
  unsigned parallelism;
  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << shape.threads << " to " << shape.max_threads << " threads, parallelism " << shape.parallelism;
  }
};

class LaneStress : public ::testing::TestWithParam<Shape> {};

TEST_P(LaneStress, EveryJobIsAnsweredOnceAndNobodyIsLeftRunning) {
  constexpr int kJobs = 4'000;
  std::vector<std::atomic<int>> answers(kJobs);
  std::atomic<int> answered{0};
  base::Parker watcher;
  Lane<int> lane({.threads = GetParam().threads,
                  .max_threads = GetParam().max_threads,
                  .parallelism = GetParam().parallelism,
                  .queue = 256,
                  .retire_after = 2ms},
                 [&](LaneThread<int>& thread) {
                   while (const std::optional<int> job = thread.take()) {
                     if (*job % 41 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300 + *job % 2'000));
                     if (*job % 97 == 0) {
                       for (const base::Instant until = base::now() + 1500us; base::now() < until;) spin(50);
                     }
                     answers[static_cast<std::size_t>(*job)].fetch_add(1);
                     const bool last = answered.fetch_add(1) + 1 == kJobs;
                     if (thread.finished() || last) watcher.wake();
                   }
                 });
  ASSERT_TRUE(lane.start());

  std::minstd_rand random(GetParam().threads * 100 + GetParam().parallelism);
  const base::Instant deadline = base::now() + 2 * kBound;
  int pushed = 0;
  while (answered.load() < kJobs && base::now() < deadline) {
    for (auto batch = random() % 24; batch > 0 && pushed < kJobs; --batch) {
      if (!lane.push(pushed)) break;  // full: the rest with a later turn
      ++pushed;
    }
    lane.wake();
    base::Instant next = std::min(lane.tend(base::now()), deadline);
    if (pushed < kJobs) next = std::min(next, base::now() + std::chrono::microseconds(random() % 300));
    static_cast<void>(watcher.wait_until(next));
  }
  EXPECT_EQ(answered.load(), kJobs);
  for (const auto& count : answers) ASSERT_EQ(count.load(), 1);

  EXPECT_TRUE(eventually([&] { return lane.starting() == 0 && lane.running() == 0; })) << lane.running();
  lane.stop();
  EXPECT_TRUE(lane.join_until(base::now() + kBound));
  EXPECT_EQ(lane.running(), 0);
  EXPECT_GE(lane.counters().blocked, 1U);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LaneStress,
                         ::testing::Values(Shape{1, 1, 1}, Shape{4, 4, 1}, Shape{2, 16, 1}, Shape{8, 8, 2},
                                           Shape{2, 16, 4}));

}  // namespace
}  // namespace m0::pool
