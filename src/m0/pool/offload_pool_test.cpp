#include "m0/pool/offload_pool.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "m0/pool/lane_test_support.hpp"

namespace m0::pool {
namespace {

using namespace testing;

/// What travels: a number, something to do, and who did it.
struct Job : CompletionNode {
  int number = 0;
  std::function<void(Job&)> work;
  std::function<void()> give_notice;  // for `work`, while it runs
  unsigned thread = 0;

  static constexpr unsigned kInList = 1;
  static constexpr unsigned kReturned = 2;
  std::atomic<unsigned> word{0};
  bool finish() noexcept { return (word.fetch_or(kInList | kReturned) & kInList) == 0; }
  bool notify() noexcept { return (word.fetch_or(kInList) & kInList) == 0; }
};

/// Blocks pool threads until the test opens it.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool entered_by(int threads) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kBound, [&] { return inside_ >= threads; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

[[nodiscard]] bool readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

void drain_jobs(PoolThread<Job>& thread) {
  thread.ready();
  while (Job* job = thread.take()) {
    do {
      job->thread = thread.context().thread;
      job->give_notice = [&thread, job] { thread.notify(*job); };
      if (job->work) job->work(*job);
      thread.complete(*job);
      job = thread.take_now();
    } while (job != nullptr);
  }
}

/// A pool and the loop it hands back to. It sleeps exactly as the server's loop does: until the pool asked to be
/// tended or wakes it, and never in between.
class Loop {
 public:
  explicit Loop(unsigned worker = 0) : pool(waker, worker) {}
  ~Loop() {
    for (Gate& gate : gates) gate.open();
    if (!stopped_) stop();
    EXPECT_TRUE(pool.join_until(base::now() + kBound));
  }

  base::Waker waker;
  OffloadPool<Job> pool;
  std::deque<Gate> gates;  // opened at the end, whatever the test came to

  void stop() {
    stopped_ = true;
    pool.stop();
  }

  Gate& gate() { return gates.emplace_back(); }
  Job& job(std::function<void(Job&)> work = {}) {
    Job& made = jobs_.emplace_back();
    made.number = static_cast<int>(jobs_.size()) - 1;
    made.work = std::move(work);
    return made;
  }
  Job& blocker(Gate& gate) {
    return job([&gate](Job&) { gate.pass(); });
  }

  /// Turns until `holds()`, false when the loop would have slept on for the whole bound.
  template <class Condition>
  [[nodiscard]] bool run_until(Condition&& holds) {
    const base::Instant deadline = base::now() + kBound;
    // Before anything is drained: what the loop finds only because its sleep was bounded here does not count.
    while (base::now() < deadline) {
      drain();
      pool.hand_over();
      const base::Instant next = pool.tend(base::now());
      if (holds()) return true;
      waker.announce_sleep();
      if (pool.nothing_came_back()) {
        sleeps_for_good = next == base::Instant::max();
        sleep_until(std::min(next, deadline));
        sleeps_for_good = false;
      }
      waker.awake();
      waker.drain();
    }
    return false;
  }
  [[nodiscard]] bool returns(std::size_t jobs) {
    return run_until([&] { return returned.size() >= jobs; });
  }
  [[nodiscard]] bool has_returned(const Job& job) const {
    return std::find(returned.begin(), returned.end(), job.number) != returned.end();
  }

  void drain() {
    pool.drain([&](Job& job) {
      ++visits;
      if ((job.word.fetch_and(~Job::kInList) & Job::kReturned) != 0) returned.push_back(job.number);
    });
  }

  std::vector<int> returned;
  int visits = 0;
  std::atomic<bool> sleeps_for_good{false};

 private:
  void sleep_until(base::Instant until) const {
    const auto left = std::max<base::Duration>(until - base::now(), base::Duration{0});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec timeout{static_cast<time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
    pollfd entry{waker.fd(), POLLIN, 0};
    ::ppoll(&entry, 1, &timeout, nullptr);
  }

  std::deque<Job> jobs_;
  bool stopped_ = false;
};

TEST(OffloadPool, StartWaitsUntilEveryThreadHasBuiltItsBody) {
  Loop loop(7);
  std::mutex mutex;
  std::set<std::string> contexts;
  const auto body = [&](PoolThread<Job>& thread) {
    {
      const std::lock_guard lock(mutex);
      contexts.insert(std::string(thread.context().lane) + std::to_string(thread.context().thread) + " of worker " +
                      std::to_string(thread.context().worker));
    }
    drain_jobs(thread);
  };
  EXPECT_EQ(loop.pool.add_lane({.name = "first", .threads = 2, .max_threads = 2}, body), 0U);
  EXPECT_EQ(loop.pool.add_lane({.name = "second", .threads = 1, .max_threads = 4}, body), 1U);
  EXPECT_EQ(loop.pool.lanes(), 2U);
  ASSERT_EQ(loop.pool.start(), "");
  const std::lock_guard lock(mutex);
  EXPECT_EQ(contexts, (std::set<std::string>{"first0 of worker 7", "first1 of worker 7", "second0 of worker 7"}));
}

TEST(OffloadPool, EveryJobComesBackOnce) {
  Loop loop;
  loop.pool.add_lane({.threads = 4, .max_threads = 4, .parallelism = 2}, drain_jobs);
  ASSERT_EQ(loop.pool.start(), "");
  std::vector<int> expected;
  for (int i = 0; i < 600; ++i) {
    Job& job = loop.job();
    expected.push_back(job.number);
    ASSERT_TRUE(loop.pool.submit(0, job));
    if (i % 7 == 0) loop.pool.hand_over();
  }
  ASSERT_TRUE(loop.returns(600));
  std::sort(loop.returned.begin(), loop.returned.end());
  EXPECT_EQ(loop.returned, expected);
  EXPECT_EQ(loop.visits, 600);
}

TEST(OffloadPool, TwoJobsThatBlockAreAnsweredByTwoThreads) {
  Loop loop;
  loop.pool.add_lane({.threads = 2, .max_threads = 2}, drain_jobs);
  ASSERT_EQ(loop.pool.start(), "");
  Gate& gate = loop.gate();
  Job& first = loop.blocker(gate);
  Job& second = loop.blocker(gate);
  ASSERT_TRUE(loop.pool.submit(0, first));
  ASSERT_TRUE(loop.pool.submit(0, second));
  // Not by the count of wakes: a thread that has not parked since the start takes a job without one.
  ASSERT_TRUE(loop.run_until([&] { return loop.pool.lane(0).waiting() == 0; }));
  ASSERT_TRUE(gate.entered_by(2));
  gate.open();
  ASSERT_TRUE(loop.returns(2));
  EXPECT_EQ((std::set<unsigned>{first.thread, second.thread}), (std::set<unsigned>{0, 1}));
}

TEST(OffloadPool, ABodyThatCannotBeBuiltRefusesTheStartWithItsSentence) {
  Loop loop;
  loop.pool.add_lane({.threads = 3, .max_threads = 3}, [](PoolThread<Job>& thread) {
    if (thread.context().thread == 1) throw std::runtime_error("the database of thread 1 is missing");
    drain_jobs(thread);
  });
  EXPECT_EQ(loop.pool.start(), "the database of thread 1 is missing");
  loop.stop();
  EXPECT_TRUE(loop.pool.join_until(base::now() + kBound));
}

TEST(OffloadPool, ASystemWithoutThreadsRefusesTheStartWithASentence) {
  EXPECT_TRUE(holds_in_child([] {
    Loop loop;
    loop.pool.add_lane({.threads = 2, .max_threads = 2}, drain_jobs);
    return allow_no_more_threads() && loop.pool.start().starts_with("the system gives no more threads");
  }));
}

TEST(OffloadPool, ABodyThatThrowsAnythingElseRefusesTheStartToo) {
  Loop loop;
  loop.pool.add_lane({.threads = 1, .max_threads = 1}, [](PoolThread<Job>&) { throw 1; });
  EXPECT_NE(loop.pool.start(), "");
}

TEST(OffloadPool, ABodyThatEndsBeforeItIsReadyRefusesTheStart) {
  Loop loop;
  loop.pool.add_lane({.threads = 1, .max_threads = 1}, [](PoolThread<Job>&) {});
  EXPECT_NE(loop.pool.start(), "");
}

TEST(OffloadPool, AGrownThreadThatCannotBeBuiltLosesNoJob) {
  Loop loop;
  loop.pool.add_lane({.threads = 1, .max_threads = 4}, [](PoolThread<Job>& thread) {
    if (thread.context().thread > 0) throw std::runtime_error("no more connections");
    drain_jobs(thread);
  });
  ASSERT_EQ(loop.pool.start(), "");
  Gate& gate = loop.gate();
  ASSERT_TRUE(loop.pool.submit(0, loop.blocker(gate)));
  ASSERT_TRUE(loop.pool.submit(0, loop.job()));
  ASSERT_TRUE(loop.run_until([&] { return loop.pool.lane(0).counters().grown > 0; }));
  EXPECT_TRUE(eventually([&] { return loop.pool.lane(0).starting() == 0; }));
  gate.open();
  EXPECT_TRUE(loop.returns(2));
}

TEST(OffloadPool, AFullLaneRefusesAndAnotherDoesNot) {
  Loop loop;
  loop.pool.add_lane({.name = "small", .threads = 1, .max_threads = 1, .queue = 2}, drain_jobs);
  loop.pool.add_lane({.name = "other", .threads = 1, .max_threads = 1, .queue = 2}, drain_jobs);
  ASSERT_EQ(loop.pool.start(), "");
  Gate& gate = loop.gate();
  ASSERT_TRUE(loop.pool.submit(0, loop.blocker(gate)));
  loop.pool.hand_over();
  ASSERT_TRUE(gate.entered_by(1));
  EXPECT_TRUE(loop.pool.submit(0, loop.job()));
  EXPECT_TRUE(loop.pool.submit(0, loop.job()));
  EXPECT_FALSE(loop.pool.submit(0, loop.job()));
  Job& other = loop.job();
  EXPECT_TRUE(loop.pool.submit(1, other));
  EXPECT_TRUE(loop.run_until([&] { return loop.has_returned(other); }));
  EXPECT_EQ(loop.returned.size(), 1U);
  gate.open();
  EXPECT_TRUE(loop.returns(4));
}

TEST(OffloadPool, AnAwakeLoopIsNotWoken) {
  Loop loop;
  loop.pool.add_lane({.threads = 1, .max_threads = 1}, drain_jobs);
  ASSERT_EQ(loop.pool.start(), "");
  ASSERT_TRUE(loop.pool.submit(0, loop.job()));
  loop.pool.hand_over();
  ASSERT_TRUE(eventually([&] { return !loop.pool.nothing_came_back() && loop.pool.lane(0).running() == 0; }));
  EXPECT_FALSE(readable(loop.waker.fd()));
}

// The loop is written to where the batch says so; each job looks whether it was, and puts the loop to sleep again.
TEST(OffloadPool, ABatchWakesTheLoopOncePer64AnswersAndBeforeItsLast) {
  Loop loop;
  loop.pool.add_lane({.threads = 1, .max_threads = 1}, drain_jobs);
  ASSERT_EQ(loop.pool.start(), "");
  Gate& gate = loop.gate();
  ASSERT_TRUE(loop.pool.submit(0, loop.blocker(gate)));
  std::vector<int> woken_before;
  for (int i = 1; i <= 200; ++i) {
    Job& job = loop.job([&](Job& self) {
      if (!readable(loop.waker.fd())) return;
      woken_before.push_back(self.number);
      loop.waker.drain();
      loop.waker.announce_sleep();
    });
    ASSERT_TRUE(loop.pool.submit(0, job));
  }
  loop.waker.announce_sleep();
  loop.pool.hand_over();
  ASSERT_TRUE(gate.entered_by(1));
  gate.open();
  ASSERT_TRUE(eventually([&] { return loop.pool.lane(0).running() == 0; }));
  EXPECT_TRUE(readable(loop.waker.fd())) << "the last answer is announced when the ring is empty";
  EXPECT_EQ(woken_before, (std::vector<int>{64, 128, 192, 200}));
  loop.drain();
  EXPECT_EQ(loop.returned.size(), 201U);
}

TEST(OffloadPool, AnswersAreAnnouncedBeforeALastJobThatBlocks) {
  Loop loop;
  loop.pool.add_lane({.threads = 1, .max_threads = 1}, drain_jobs);
  ASSERT_EQ(loop.pool.start(), "");
  Gate& gate = loop.gate();
  loop.waker.announce_sleep();
  ASSERT_TRUE(loop.pool.submit(0, loop.job()));
  ASSERT_TRUE(loop.pool.submit(0, loop.job()));
  ASSERT_TRUE(loop.pool.submit(0, loop.blocker(gate)));
  loop.pool.hand_over();
  ASSERT_TRUE(gate.entered_by(1));
  EXPECT_TRUE(readable(loop.waker.fd()));
  loop.drain();
  EXPECT_EQ(loop.returned, (std::vector<int>{0, 1}));
}

// One wake a batch: a loop that wakes by itself within kAnswerMayWait is not woken for the answers before the last job.
TEST(OffloadPool, AnswersBeforeALastJobWaitForALoopThatWakesSoon) {
  for (const bool soon : {true, false}) {
    Loop loop;
    loop.pool.add_lane({.threads = 1, .max_threads = 1}, drain_jobs, {.now = [] { return base::from_ns(1'000'000); }});
    ASSERT_EQ(loop.pool.start(), "");
    Gate& gate = loop.gate();
    ASSERT_TRUE(loop.pool.submit(0, loop.job()));
    ASSERT_TRUE(loop.pool.submit(0, loop.blocker(gate)));
    loop.waker.announce_sleep(base::from_ns(1'000'000) + kAnswerMayWait + (soon ? 0ns : 1ns));
    loop.pool.hand_over();
    ASSERT_TRUE(gate.entered_by(1));
    EXPECT_EQ(readable(loop.waker.fd()), !soon);
    gate.open();
    EXPECT_TRUE(eventually([&] { return readable(loop.waker.fd()); })) << "the last answer is announced in any case";
  }
}

// More jobs wait behind the one that blocks, and no thread can be woken for them: the answers of the batch still go
// out.
TEST(OffloadPool, AnswersDoNotWaitForABlockedJobThatOthersWaitBehind) {
  Loop loop;
  loop.pool.add_lane({.threads = 1, .max_threads = 1}, drain_jobs);
  ASSERT_EQ(loop.pool.start(), "");
  Gate& gate = loop.gate();
  ASSERT_TRUE(loop.pool.submit(0, loop.job()));
  ASSERT_TRUE(loop.pool.submit(0, loop.blocker(gate)));
  ASSERT_TRUE(loop.pool.submit(0, loop.job()));
  EXPECT_TRUE(loop.returns(1));
  EXPECT_EQ(loop.returned, std::vector<int>{0});
  gate.open();
  EXPECT_TRUE(loop.returns(3));
}

TEST(OffloadPool, AnAnswerOfASaturatedLaneDoesNotWaitForTheNextBlocker) {
  Loop loop;
  loop.pool.add_lane({.threads = 2, .max_threads = 2}, drain_jobs);
  ASSERT_EQ(loop.pool.start(), "");
  std::vector<Gate*> gates;
  for (int i = 0; i < 6; ++i) {
    gates.push_back(&loop.gate());
    ASSERT_TRUE(loop.pool.submit(0, loop.blocker(*gates.back())));
  }
  ASSERT_TRUE(loop.run_until([&] { return loop.pool.lane(0).counters().blocked == 2; }));
  for (std::size_t i = 0; i < 6; ++i) {
    // The loop sleeps without an end when the answer comes: nothing but the answer can wake it.
    std::jthread opener([&] {
      EXPECT_TRUE(eventually([&] { return loop.sleeps_for_good.load(); }));
      gates[i]->open();
    });
    ASSERT_TRUE(loop.returns(i + 1)) << "answer " << i << " was kept back";
  }
}

TEST(OffloadPool, ANoticeBringsAJobToTheLoopWhileItRuns) {
  Loop loop;
  loop.pool.add_lane({.threads = 1, .max_threads = 1}, drain_jobs);
  ASSERT_EQ(loop.pool.start(), "");
  Gate& first = loop.gate();
  Gate& second = loop.gate();
  Job& job = loop.job([&](Job& self) {
    self.give_notice();
    self.give_notice();  // it is on the list already
    first.pass();
    self.give_notice();
    second.pass();
  });
  ASSERT_TRUE(loop.pool.submit(0, job));
  loop.waker.announce_sleep();
  loop.pool.hand_over();
  ASSERT_TRUE(first.entered_by(1));
  EXPECT_TRUE(readable(loop.waker.fd()));
  loop.drain();
  EXPECT_EQ(loop.visits, 1);
  first.open();
  ASSERT_TRUE(loop.run_until([&] { return loop.visits == 2; }));
  EXPECT_TRUE(loop.returned.empty());
  second.open();
  ASSERT_TRUE(loop.returns(1));
  EXPECT_EQ(loop.visits, 3);
}

TEST(OffloadPool, AJobFinishedBeforeItsNoticeWasSeenIsVisitedOnce) {
  Loop loop;
  loop.pool.add_lane({.threads = 1, .max_threads = 1}, drain_jobs);
  ASSERT_EQ(loop.pool.start(), "");
  ASSERT_TRUE(loop.pool.submit(0, loop.job([](Job& self) { self.give_notice(); })));
  loop.pool.hand_over();
  ASSERT_TRUE(eventually([&] { return !loop.pool.nothing_came_back() && loop.pool.lane(0).running() == 0; }));
  loop.drain();
  EXPECT_EQ(loop.visits, 1);
  EXPECT_EQ(loop.returned, std::vector<int>{0});
}

TEST(OffloadPool, JobsQueuedBeforeTheStopComeBackAndNoneIsAcceptedAfterwards) {
  Loop loop;
  loop.pool.add_lane({.threads = 3, .max_threads = 3}, drain_jobs);
  ASSERT_EQ(loop.pool.start(), "");
  Gate& gate = loop.gate();
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(loop.pool.submit(0, i < 3 ? loop.blocker(gate) : loop.job()));
  loop.pool.hand_over();
  ASSERT_TRUE(gate.entered_by(1));
  loop.stop();
  EXPECT_FALSE(loop.pool.submit(0, loop.job()));
  EXPECT_FALSE(loop.pool.joined());
  gate.open();
  EXPECT_TRUE(loop.returns(40));
  EXPECT_TRUE(loop.pool.join_until(base::now() + kBound));
  EXPECT_TRUE(loop.pool.joined());
  loop.drain();
  EXPECT_EQ(loop.returned.size(), 40U);
  EXPECT_TRUE(loop.pool.nothing_came_back());
}

}  // namespace
}  // namespace m0::pool
