#pragma once
// When a lane wakes a thread, and how it finds out that a job blocks. Pure rules and counts: no thread, no system call.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "m0/base/clock.hpp"

namespace m0::pool {

/// What a thread is doing, as its watcher sees it.
enum class Occupation : std::uint8_t {
  Idle,       // between jobs, parked, or starting
  Running,    // in a job that may be making progress; counts against the lane's parallelism
  Blocked,    // in a job during which its CPU clock stood still
  Overtaken,  // in a job older than kOvertakeAfter: it may burn CPU, but no longer holds up the lane
};

/// Threads that are awake and neither blocked nor overtaken. Any thread. All operations are sequentially consistent:
/// the parking protocol compares this count with the ring, and either side must see the other's last step.
class RunningCount {
 public:
  explicit RunningCount(unsigned parallelism) noexcept : parallelism_(static_cast<int>(parallelism)) {}

  /// Counts one more, if fewer than `parallelism` run: the right (and the duty) to wake one thread.
  [[nodiscard]] bool try_reserve() noexcept {
    int running = running_.load(std::memory_order_seq_cst);
    while (running < parallelism_) {
      if (running_.compare_exchange_weak(running, running + 1, std::memory_order_seq_cst)) return true;
    }
    return false;
  }
  void join() noexcept { running_.fetch_add(1, std::memory_order_seq_cst); }
  void leave() noexcept { running_.fetch_sub(1, std::memory_order_seq_cst); }

  /// May a thread that is counted take another job? Not while a thread that came back from blocking makes one too many.
  [[nodiscard]] bool may_continue() const noexcept { return running_.load(std::memory_order_seq_cst) <= parallelism_; }
  [[nodiscard]] int running() const noexcept { return running_.load(std::memory_order_seq_cst); }
  [[nodiscard]] int parallelism() const noexcept { return parallelism_; }

 private:
  const int parallelism_;
  alignas(64) std::atomic<int> running_{0};
};

/// At these ages of a job its thread is looked at, while others wait; afterwards every kLookEvery.
inline constexpr std::array kLookAges{
    base::Duration{std::chrono::microseconds(200)}, base::Duration{std::chrono::microseconds(400)},
    base::Duration{std::chrono::milliseconds(1)}, base::Duration{std::chrono::milliseconds(5)},
    base::Duration{std::chrono::milliseconds(25)}};
inline constexpr base::Duration kLookEvery = std::chrono::milliseconds(25);
/// From this age on a job no longer counts as running, whatever its clock says.
inline constexpr base::Duration kOvertakeAfter = std::chrono::milliseconds(1);
/// From the first look at a job to the second.
inline constexpr base::Duration kSecondLookAfter = kLookAges[1] - kLookAges[0];
/// Two readings closer together than this say nothing.
inline constexpr base::Duration kLeastBetweenLooks = std::chrono::microseconds(100);
/// Stood still: moved less than this fraction of the time between two looks (a waiter for an interpreter lock wakes
/// now and then).
inline constexpr int kStillFraction = 20;

/// What a watcher remembers of one thread. The watcher's thread only.
class Look {
 public:
  /// When the job that began at `began` is to be looked at next.
  [[nodiscard]] base::Instant due(std::uint64_t job, base::Instant began) const noexcept {
    if (job != job_) return began + kLookAges.front();
    // One reading says nothing yet: the second follows soon, however old the job was at the first.
    if (looks_ == 1) return last_ + kSecondLookAfter;
    base::Instant next = last_ + kLookEvery;
    for (const base::Duration age : kLookAges) {
      if (began + age > last_) {
        next = began + age;
        break;
      }
    }
    const base::Instant least = last_ + kLeastBetweenLooks;
    return next < least ? least : next;
  }

  /// A look at job `job`, which began at `began`, at time `now`, its thread's CPU clock standing at `cpu`: what the
  /// thread is to be called from now on.
  [[nodiscard]] Occupation judge(std::uint64_t job, base::Instant began, base::Instant now,
                                 base::Duration cpu) noexcept {
    const bool seen_before = job == job_;
    looks_ = seen_before ? looks_ + 1 : 1;
    const base::Duration between = now - last_;
    const bool still = seen_before && (cpu - cpu_) * kStillFraction < between;
    job_ = job;
    last_ = now;
    cpu_ = cpu;
    if (still) return Occupation::Blocked;
    return now - began >= kOvertakeAfter ? Occupation::Overtaken : Occupation::Running;
  }

 private:
  std::uint64_t job_ = 0;
  unsigned looks_ = 0;
  base::Instant last_{};
  base::Duration cpu_{};
};

/// Whether more threads could help a lane whose threads all look blocked. Under an interpreter lock those that only
/// wait for the lock look blocked too, while one of them burns CPU with it: another thread would wait for the lock as
/// well and cost a hand-over more (a view of 1 ms CPU and five waits, 64 clients: growing on did 554 requests a second,
/// eight threads 764). So the lane grows only when its threads together left a fifth of it and more. The watcher's
/// thread only.
class GrowthGate {
 public:
  /// Two readings must be this far apart, and not further than kLongestWindow: an old one tells of other times.
  static constexpr base::Duration kWindow = std::chrono::milliseconds(1);
  static constexpr base::Duration kLongestWindow = std::chrono::milliseconds(50);

  /// `cpu`: what all threads of the lane have burned together.
  [[nodiscard]] bool may_grow(base::Instant now, base::Duration cpu, int parallelism) noexcept {
    const base::Duration window = now - last_;
    if (window < kWindow) return false;
    const bool idle = window <= kLongestWindow && (cpu - cpu_) * 10 < window * parallelism * 8;
    last_ = now;
    cpu_ = cpu;
    return idle;
  }
  /// When to ask again.
  [[nodiscard]] base::Instant due() const noexcept { return last_ + kWindow; }

 private:
  base::Instant last_{};
  base::Duration cpu_{};
};

}  // namespace m0::pool
