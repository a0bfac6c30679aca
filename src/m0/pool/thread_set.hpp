#pragma once
// The threads of one lane: their slots, who is parked (last parked, first woken), starting and joining.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "m0/base/clock.hpp"
#include "m0/base/parker.hpp"
#include "m0/pool/wake_policy.hpp"

namespace m0::pool {

/// One thread's place. Members say whose they are.
struct alignas(64) ThreadSlot {
  // -- written by the thread, read by the watcher
  /// (number of the job << 2) | Occupation. The watcher changes the occupation of a job that it saw, by
  /// compare-exchange, so that it can never mark the next one.
  std::atomic<std::uint64_t> state{0};
  std::atomic<std::int64_t> began_ns{0};
  std::atomic<std::int64_t> parked_ns{0};
  std::atomic<bool> exited{false};

  // -- any thread
  base::Parker parker;
  std::atomic<std::uint32_t> next_parked{0};
  std::atomic<bool> retire{false};

  // -- the watcher's
  Look look;
  std::thread thread;
  bool live = false;

  // -- written by the thread before it reports itself started
  clockid_t cpu_clock{};

  static constexpr std::uint64_t pack(std::uint64_t job, Occupation what) noexcept {
    return (job << 2) | static_cast<std::uint64_t>(what);
  }
  static constexpr Occupation occupation(std::uint64_t packed) noexcept { return static_cast<Occupation>(packed & 3); }
  static constexpr std::uint64_t job(std::uint64_t packed) noexcept { return packed >> 2; }
};

/// A Treiber stack of slot indices; a tag in the upper half makes a stale pop fail. Any thread.
class ParkedStack {
 public:
  void push(std::vector<std::unique_ptr<ThreadSlot>>& slots, unsigned index) noexcept;
  /// The one parked last; -1 when nobody is.
  [[nodiscard]] int pop(std::vector<std::unique_ptr<ThreadSlot>>& slots) noexcept;
  [[nodiscard]] bool empty() const noexcept { return (head_.load(std::memory_order_seq_cst) & kIndex) == 0; }

 private:
  static constexpr std::uint64_t kIndex = 0xffffffff;  // index + 1; 0: empty
  std::atomic<std::uint64_t> head_{0};
};

/// Starting, joining and retiring: the watcher's thread. park() and wake_one(): any thread of the set, or the watcher.
class ThreadSet {
 public:
  using Main = std::function<void(unsigned index)>;

  /// `name` is the operating system's name of the threads (cut to 15 bytes with the index).
  ThreadSet(std::string name, unsigned capacity, Main main);
  /// Waits for every thread; each must be on its way out.
  ~ThreadSet();

  /// Starts one more; false when every slot is taken or the system gives no thread.
  [[nodiscard]] bool spawn();
  /// Joins those that have left; their slots are free again. Returns how many.
  unsigned reap();
  /// Joins all within the time; false when some are still inside a job.
  [[nodiscard]] bool join_until(base::Instant deadline);

  [[nodiscard]] unsigned live() const noexcept { return live_; }
  /// Told to retire and not joined yet.
  [[nodiscard]] unsigned retiring() const noexcept { return retiring_; }
  [[nodiscard]] unsigned staying() const noexcept { return live_ - retiring_; }
  [[nodiscard]] unsigned capacity() const noexcept { return static_cast<unsigned>(slots_.size()); }
  [[nodiscard]] ThreadSlot& slot(unsigned index) noexcept { return *slots_[index]; }

  /// Calls visit(index, slot) for each live thread.
  template <class Visit>
  void for_each_live(Visit&& visit) {
    for (unsigned i = 0; i < capacity(); ++i) {
      if (slots_[i]->live) visit(i, *slots_[i]);
    }
  }

  /// Puts the thread on the stack; it must wait on its parker afterwards.
  void announce(unsigned index) noexcept { parked_.push(slots_, index); }
  /// Wakes the thread parked last; false when nobody is parked. The waker has counted it as running before.
  [[nodiscard]] bool wake_one() noexcept;
  [[nodiscard]] bool anyone_parked() const noexcept { return !parked_.empty(); }

  /// Ends parked threads above `keep` that have idled since before `since`. Returns how many.
  unsigned retire_idle(unsigned keep, base::Instant since);

 private:
  std::string name_;
  Main main_;
  std::vector<std::unique_ptr<ThreadSlot>> slots_;
  ParkedStack parked_;
  unsigned live_ = 0;
  unsigned retiring_ = 0;
};

}  // namespace m0::pool
