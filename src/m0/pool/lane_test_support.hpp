#pragma once
// For the lane's tests: a lane of int jobs that block when told to, and a time that moves when told to.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "m0/pool/lane.hpp"

namespace m0::pool::testing {

using namespace std::chrono_literals;

/// Long enough for a starved machine; a test that waits for it fails.
inline constexpr base::Duration kBound = 20s;

/// Waits until `holds()`, which is true already or becomes so by another thread's doing. False: it did not.
template <class Condition>
[[nodiscard]] bool eventually(Condition&& holds) {
  const base::Instant deadline = base::now() + kBound;
  while (!holds()) {
    if (base::now() > deadline) return false;
    std::this_thread::sleep_for(50us);
  }
  return true;
}

/// Whether it holds in a child process, whose limits end with it.
template <class Condition>
[[nodiscard]] bool holds_in_child(Condition&& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(holds() && !::testing::Test::HasFailure() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

/// From now on no thread can be started. Gives up the rights of root, whom that limit does not bind.
[[nodiscard]] inline bool allow_no_more_threads() {
  constexpr uid_t kNobody = 65'534;
  if (::geteuid() == 0 && ::setuid(kNobody) != 0) return false;
  const rlimit none{0, 0};
  return ::setrlimit(RLIMIT_NPROC, &none) == 0;
}

/// Some rounds of nothing: shifts where two threads meet.
inline void spin(int rounds) {
  for (int i = 0; i < rounds; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Any thread.
class TestTime {
 public:
  [[nodiscard]] base::Instant now() const { return base::from_ns(now_ns_.load()); }
  void advance(base::Duration by) { now_ns_ += by.count(); }
  void advance_to(base::Instant at) { now_ns_ = base::to_ns(at); }
  /// The CPU clock of one thread moves.
  void burn(unsigned thread, base::Duration by) { cpu_ns_[thread] += by.count(); }
  /// How often a CPU clock was read.
  [[nodiscard]] unsigned cpu_calls() const { return cpu_calls_.load(); }

  /// What happens while the watcher reads the next CPU clock. The watcher's thread.
  std::function<void()> during_next_reading;

  [[nodiscard]] LaneClocks clocks() {
    return {.now = [this] { return now(); },
            .cpu =
                [this](unsigned thread, clockid_t) {
                  ++cpu_calls_;
                  if (auto happens = std::exchange(during_next_reading, {})) happens();
                  return base::Duration{cpu_ns_[thread].load()};
                }};
  }

 private:
  std::atomic<std::int64_t> now_ns_{1'000'000'000};
  std::array<std::atomic<std::int64_t>, 64> cpu_ns_{};
  std::atomic<unsigned> cpu_calls_{0};
};

/// A lane with a TestTime, whose watcher is the test.
class IntLane {
 public:
  explicit IntLane(LaneConfig config)
      : lane_(std::move(config), [this](LaneThread<int>& t) { run(t); }, time.clocks()) {
    EXPECT_TRUE(lane_.start());
    EXPECT_TRUE(running_is(0));
  }
  IntLane(const IntLane&) = delete;
  IntLane& operator=(const IntLane&) = delete;
  ~IntLane() {
    open_all();
    if (!stopped_) stop();
    EXPECT_TRUE(lane_.join_until(base::now() + kBound)) << lane_.live() << " threads are left";
    EXPECT_EQ(lane_.running(), 0);
  }

  TestTime time;

  /// A job of this number blocks until open(number).
  void close(int job) {
    const std::lock_guard lock(mutex_);
    closed_.insert(job);
  }
  void open(int job) {
    const std::lock_guard lock(mutex_);
    closed_.erase(job);
    changed_.notify_all();
  }
  void open_all() {
    const std::lock_guard lock(mutex_);
    closed_.clear();
    open_for_good_ = true;
    changed_.notify_all();
  }

  /// Threads that got their pill or retire wait in their last lines until the test lets them go.
  void hold_leavers() {
    const std::lock_guard lock(mutex_);
    hold_leavers_ = true;
  }

  [[nodiscard]] bool push(int job) { return lane_.push(job); }
  /// One job, one turn of the loop.
  void submit(int job) {
    EXPECT_TRUE(push(job));
    lane_.wake();
  }
  /// Submits a job that blocks, and gives the thread that runs it.
  std::optional<unsigned> submit_blocker(int job) {
    close(job);
    submit(job);
    return thread_of(job);
  }
  void stop() {
    stopped_ = true;
    lane_.stop();
  }
  base::Instant tend() { return lane_.tend(time.now()); }
  base::Instant tend_after(base::Duration by) {
    time.advance(by);
    return tend();
  }

  /// The thread that took the job, once one did; nothing when none does within the bound.
  [[nodiscard]] std::optional<unsigned> thread_of(int job) {
    std::unique_lock lock(mutex_);
    std::optional<unsigned> thread;
    changed_.wait_for(lock, kBound, [&] { return (thread = taker_of(job)).has_value(); });
    EXPECT_TRUE(thread) << "nobody took job " << job;
    return thread;
  }
  [[nodiscard]] bool was_taken(int job) {
    const std::lock_guard lock(mutex_);
    return taker_of(job).has_value();
  }
  [[nodiscard]] bool answered(std::size_t jobs) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kBound, [&] { return answered_.size() >= jobs; });
  }
  [[nodiscard]] std::vector<int> answers() {
    const std::lock_guard lock(mutex_);
    return answered_;
  }
  /// Which threads took a job.
  [[nodiscard]] std::set<unsigned> takers() {
    const std::lock_guard lock(mutex_);
    std::set<unsigned> threads;
    for (const auto& [job, thread] : taken_) threads.insert(thread);
    return threads;
  }
  [[nodiscard]] unsigned left() {
    const std::lock_guard lock(mutex_);
    return left_;
  }
  /// So many count as running. A thread that left the count without being blocked has announced itself as parked.
  [[nodiscard]] bool running_is(int count) {
    return eventually([&] { return lane_.starting() == 0 && lane_.running() == count; });
  }
  /// How often finished() asked for the watcher.
  [[nodiscard]] unsigned told() const { return told_.load(); }

  /// Lets time pass as a loop would that comes back exactly when it was asked to, or told to, until `holds()`.
  template <class Condition>
  [[nodiscard]] bool run_loop_until(Condition&& holds) {
    const base::Instant deadline = base::now() + kBound;
    unsigned seen = told_.load();
    base::Instant next = tend();
    while (!holds()) {
      if (base::now() > deadline) return false;
      if (const unsigned told_now = told_.load(); told_now != seen) {
        seen = told_now;
        next = tend();
      } else if (next != base::Instant::max()) {
        time.advance_to(std::max(next, time.now()));
        next = tend();
      }
      std::this_thread::sleep_for(50us);  // the jobs' threads live in real time
    }
    return true;
  }

  [[nodiscard]] Lane<int>& lane() { return lane_; }
  [[nodiscard]] std::uint64_t wakes() const { return lane_.counters().wakes; }
  [[nodiscard]] std::uint64_t blocked() const { return lane_.counters().blocked; }
  [[nodiscard]] std::uint64_t overtaken() const { return lane_.counters().overtaken; }
  [[nodiscard]] std::uint64_t grown() const { return lane_.counters().grown; }
  [[nodiscard]] std::uint64_t retired() const { return lane_.counters().retired; }

 private:
  void run(LaneThread<int>& thread) {
    while (const std::optional<int> job = thread.take()) {
      std::unique_lock lock(mutex_);
      taken_.emplace_back(*job, thread.index());
      changed_.notify_all();
      changed_.wait(lock, [&] { return !closed_.contains(*job); });
      answered_.push_back(*job);
      changed_.notify_all();
      lock.unlock();
      if (thread.finished()) ++told_;
    }
    std::unique_lock lock(mutex_);
    ++left_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !hold_leavers_ || open_for_good_; });
  }

  [[nodiscard]] std::optional<unsigned> taker_of(int job) const {
    for (const auto& [taken, thread] : taken_) {
      if (taken == job) return thread;
    }
    return std::nullopt;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> closed_;
  bool open_for_good_ = false;
  bool hold_leavers_ = false;
  std::vector<std::pair<int, unsigned>> taken_;
  std::vector<int> answered_;
  unsigned left_ = 0;
  std::atomic<unsigned> told_{0};
  bool stopped_ = false;
  Lane<int> lane_;
};

}  // namespace m0::pool::testing
