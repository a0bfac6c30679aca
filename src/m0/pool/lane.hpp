#pragma once
// A queue with its threads. The rules by which threads wake, give way, multiply and leave:
//
//   1. A push wakes one parked thread, only if fewer than `parallelism` threads are running.
//   2. While jobs wait the watcher (the loop) calls tend(): a job whose thread's CPU clock stands still is blocked, one
//      older than 1 ms is overtaken; neither counts as running, so another thread is woken.
//   3. A thread that finishes takes the next job only while no more than `parallelism` are running; else it parks.
//   4. When every thread is blocked and jobs wait, one is added, up to max_threads; idle extra ones retire. A thread
//      that builds its body counts as running only from its first take() on: a slow start holds up nobody.
//   5. Parking: announce, leave the count, look again (jobs wait and too few run: wake one, perhaps oneself), wait.
//
// Stopping queues one pill a thread behind the jobs. Nothing else wakes a thread that waits for its pill.

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "m0/base/check.hpp"
#include "m0/base/clock.hpp"
#include "m0/pool/lane_config.hpp"
#include "m0/pool/ring.hpp"
#include "m0/pool/thread_set.hpp"
#include "m0/pool/wake_policy.hpp"

namespace m0::pool {

/// Where a lane reads time; a test brings its own.
struct LaneClocks {
  std::function<base::Instant()> now = [] { return base::now(); };
  std::function<base::Duration(unsigned thread, clockid_t id)> cpu = [](unsigned, clockid_t id) {
    timespec at{};
    clock_gettime(id, &at);
    return base::Duration{std::chrono::seconds(at.tv_sec)} + base::Duration{at.tv_nsec};
  };
};

/// What a lane counts, for whoever reports it. Written by any thread.
struct LaneCounters {
  std::atomic<std::uint64_t> wakes{0};      // threads woken
  std::atomic<std::uint64_t> blocked{0};    // jobs marked blocked
  std::atomic<std::uint64_t> overtaken{0};  // jobs marked overtaken
  std::atomic<std::uint64_t> grown{0};      // threads added
  std::atomic<std::uint64_t> retired{0};    // extra threads ended
  std::atomic<std::uint64_t> refused{0};    // pushes that found the queue full
};

template <class Job>
class Lane;

/// A thread's side of its lane. That thread only.
template <class Job>
class LaneThread {
 public:
  [[nodiscard]] unsigned index() const noexcept { return index_; }

  /// Waits for a job. Nothing: the thread got its pill, or retires, and must return from its main.
  [[nodiscard]] std::optional<Job> take() {
    for (;;) {
      if (std::optional<Job> job = take_now()) return job;
      if (leaving_) return std::nullopt;
      if (!lane_->park(index_)) {
        leaving_ = true;
        standing_ = Standing::NotCounted;
        return std::nullopt;
      }
    }
  }

  /// The next job, if the ring has one and the lane's rules let this thread go on. Never waits.
  [[nodiscard]] std::optional<Job> take_now() {
    if (standing_ == Standing::Starting) enter();
    if (leaving_ || !lane_->running_.may_continue()) return std::nullopt;
    const auto message = lane_->ring_.pop();
    if (!message) return std::nullopt;
    if (message->pill) {
      leaving_ = true;
      return std::nullopt;
    }
    ThreadSlot& slot = lane_->threads_.slot(index_);
    slot.began_ns.store(base::to_ns(lane_->clocks_.now()), std::memory_order_relaxed);
    // Release: a watcher that sees this job's number sees when it began.
    slot.state.store(ThreadSlot::pack(++job_, Occupation::Running), std::memory_order_release);
    return message->job;
  }

  /// The job taken last is finished. True: it was blocked or overtaken, and its thread counts as running again; the
  /// watcher, whom tend() may have told not to come back before something happens, must be made to call it.
  [[nodiscard]] bool finished() noexcept {
    ThreadSlot& slot = lane_->threads_.slot(index_);
    const std::uint64_t was = slot.state.exchange(ThreadSlot::pack(job_, Occupation::Idle), std::memory_order_seq_cst);
    if (ThreadSlot::occupation(was) == Occupation::Running) return false;
    lane_->running_.join();
    return true;
  }

  /// When the job taken last began.
  [[nodiscard]] base::Instant began() const noexcept {
    return base::from_ns(lane_->threads_.slot(index_).began_ns.load(std::memory_order_relaxed));
  }
  [[nodiscard]] bool queue_empty() const noexcept { return lane_->ring_.empty(); }

 private:
  friend class Lane<Job>;
  LaneThread(Lane<Job>& lane, unsigned index) noexcept : lane_(&lane), index_(index) {
    job_ = ThreadSlot::job(lane.threads_.slot(index).state.load(std::memory_order_relaxed));
  }

  /// The body is built. In this order: a watcher that no longer sees it starting sees it counted.
  void enter() noexcept {
    standing_ = Standing::Counted;
    lane_->running_.join();
    lane_->starting_.fetch_sub(1, std::memory_order_seq_cst);
  }

  enum class Standing : std::uint8_t { Starting, Counted, NotCounted };

  Lane<Job>* lane_;
  unsigned index_;
  std::uint64_t job_ = 0;
  bool leaving_ = false;
  Standing standing_ = Standing::Starting;
};

/// push(), wake(), tend(), stop(), join: the watcher's thread (the loop), which is also the only producer.
template <class Job>
class Lane {
 public:
  using Main = std::function<void(LaneThread<Job>&)>;

  Lane(LaneConfig config, Main main, LaneClocks clocks = {})
      : config_(std::move(config)),
        main_(std::move(main)),
        clocks_(std::move(clocks)),
        running_(config_.parallelism),
        ring_(config_.queue + config_.max_threads),
        threads_(config_.name, config_.max_threads, [this](unsigned index) { thread_main(index); }) {
    M0_CHECK(config_.threads >= 1 && config_.threads <= config_.max_threads && config_.parallelism >= 1);
  }
  /// Sends the pills that were not sent, and waits for every thread.
  ~Lane() {
    if (!stopping_) stop();
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Starts the threads that are kept. False when the system gives no more threads.
  [[nodiscard]] bool start() {
    for (unsigned i = 0; i < config_.threads; ++i) {
      if (!add_thread()) return false;
    }
    return true;
  }

  /// False when `queue` jobs wait already, or the lane is stopping. wake() must follow, once a batch.
  [[nodiscard]] bool push(Job job) {
    if (stopping_ || ring_.size() >= config_.queue || !ring_.push({job, false})) {
      counters_.refused.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    ++pushed_;
    return true;
  }

  /// Rule 1 for everything pushed since the last call.
  void wake() {
    for (; pushed_ > 0; --pushed_) {
      if (!wake_if_needed()) break;
    }
    pushed_ = 0;
  }

  /// Rules 2 and 4. Returns when it wants to be called again; Instant::max(): when something was pushed, or when
  /// LaneThread::finished() said so. The threads are watched also while nobody could be woken: one that blocks unseen
  /// would count as running, and the next to finish would give way to it.
  base::Instant tend(base::Instant now) {
    base::Instant next = retire(now);
    if (ring_.empty()) return next;
    unsigned blocked = 0;
    int in_job = 0;
    threads_.for_each_live([&](unsigned index, ThreadSlot& slot) {
      next = std::min(next, look_at(index, slot, now));
      const Occupation occupation = ThreadSlot::occupation(slot.state.load(std::memory_order_acquire));
      if (occupation == Occupation::Blocked) ++blocked;
      if (occupation == Occupation::Running) ++in_job;
    });
    const bool some_start = starting() > 0;
    // Awake between two jobs, or woken a moment ago: each takes one of those that wait.
    int coming = running_.running() - in_job;
    // In place of those that were found to block; and the safety net.
    while (static_cast<int>(ring_.size()) > coming && wake_if_needed()) ++coming;
    // What they take is to be looked at too, and none of them will say when.
    if (coming > 0 || some_start) next = std::min(next, now + kLookAges.front());
    if (blocked == threads_.staying() && !some_start && !ring_.empty() && !stopping_) next = std::min(next, grow(now));
    return next;
  }

  /// One pill a thread, behind the jobs that are queued. Called once; nothing is accepted afterwards.
  void stop() { stop_with(threads_.live()); }

  [[nodiscard]] bool join_until(base::Instant deadline) { return threads_.join_until(deadline); }

  [[nodiscard]] const LaneConfig& config() const noexcept { return config_; }
  [[nodiscard]] const LaneCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] std::size_t waiting() const noexcept { return ring_.size(); }
  [[nodiscard]] bool idle() const noexcept { return ring_.empty(); }
  [[nodiscard]] unsigned live() const noexcept { return threads_.live(); }
  /// Threads that build their bodies. Afterwards a thread counts as running until it parks.
  [[nodiscard]] unsigned starting() const noexcept { return starting_.load(std::memory_order_seq_cst); }
  [[nodiscard]] int running() const noexcept { return running_.running(); }
  [[nodiscard]] ThreadSet& threads() noexcept { return threads_; }

 protected:
  /// A test shows that one pill fewer leaves a thread behind.
  void stop_with(unsigned pills) {
    stopping_ = true;
    for (unsigned i = 0; i < pills; ++i) {
      // The ring has room for them beyond `queue`, but a consumer that was interrupted in its pop may still hold a
      // cell.
      while (!ring_.push({Job{}, true})) std::this_thread::yield();
      ++pushed_;
    }
    wake();
  }

 private:
  friend class LaneThread<Job>;
  struct Message {
    Job job;
    bool pill;
  };

  bool add_thread() {
    starting_.fetch_add(1, std::memory_order_seq_cst);
    if (threads_.spawn()) return true;
    starting_.fetch_sub(1, std::memory_order_seq_cst);
    return false;
  }

  /// More threads, if there may be more and they could help. Returns when to come back.
  base::Instant grow(base::Instant now) {
    if (threads_.live() == config_.max_threads) return base::Instant::max();
    if (now < next_growth_) return next_growth_;
    base::Duration cpu{};
    threads_.for_each_live([&](unsigned index, ThreadSlot& slot) { cpu += clocks_.cpu(index, slot.cpu_clock); });
    if (!growth_.may_grow(now, cpu, running_.parallelism())) return growth_.due();
    // A quarter at a time: a burst of blockers is met in a few steps, and what turns out to be too many retires.
    const unsigned step = std::max(1U, threads_.staying() / 4);
    const auto wanted = static_cast<unsigned>(std::min<std::size_t>(step, ring_.size()));
    for (unsigned added = 0; added < wanted && threads_.live() < config_.max_threads; ++added) {
      if (!add_thread()) return next_growth_ = now + kLookEvery;  // the system has no more: not at every turn
      counters_.grown.fetch_add(1, std::memory_order_relaxed);
    }
    return now + kLookAges.front();
  }

  void thread_main(unsigned index) {
    using Standing = typename LaneThread<Job>::Standing;
    LaneThread<Job> thread(*this, index);
    main_(thread);
    if (thread.standing_ == Standing::Starting) starting_.fetch_sub(1, std::memory_order_seq_cst);
    if (thread.standing_ == Standing::Counted) running_.leave();
    static_cast<void>(wake_if_needed());  // what it leaves behind (other threads' pills among it) is somebody else's
  }

  /// Rule 5. False: this thread is to retire; it is not counted as running then.
  bool park(unsigned index) {
    ThreadSlot& slot = threads_.slot(index);
    slot.parked_ns.store(base::to_ns(clocks_.now()), std::memory_order_release);
    threads_.announce(index);
    running_.leave();
    static_cast<void>(wake_if_needed());
    slot.parker.wait();
    return !slot.retire.load(std::memory_order_acquire);
  }

  /// Jobs wait and fewer than `parallelism` run: wakes the thread parked last.
  bool wake_if_needed() {
    while (!ring_.empty() && running_.try_reserve()) {
      if (threads_.wake_one()) {
        counters_.wakes.fetch_add(1, std::memory_order_relaxed);
        return true;
      }
      running_.leave();
      // A thread that parked while the count was one too high saw no reason to wake anybody: look again.
      if (!threads_.anyone_parked()) return false;
    }
    return false;
  }

  base::Instant look_at(unsigned index, ThreadSlot& slot, base::Instant now) {
    const std::uint64_t seen = slot.state.load(std::memory_order_acquire);
    const Occupation occupation = ThreadSlot::occupation(seen);
    if (occupation != Occupation::Running && occupation != Occupation::Overtaken) return base::Instant::max();
    const std::uint64_t job = ThreadSlot::job(seen);
    const base::Instant began = base::from_ns(slot.began_ns.load(std::memory_order_relaxed));
    if (slot.look.due(job, began) > now) return slot.look.due(job, began);

    const Occupation verdict = slot.look.judge(job, began, now, clocks_.cpu(index, slot.cpu_clock));
    if (verdict != occupation && verdict != Occupation::Running) {
      std::uint64_t expected = seen;
      if (slot.state.compare_exchange_strong(expected, ThreadSlot::pack(job, verdict), std::memory_order_seq_cst)) {
        (verdict == Occupation::Blocked ? counters_.blocked : counters_.overtaken)
            .fetch_add(1, std::memory_order_relaxed);
        if (occupation == Occupation::Running) running_.leave();  // tend() wakes another
      }
    }
    return slot.look.due(job, began);
  }

  /// The other half of rule 4. Returns when to come back.
  base::Instant retire(base::Instant now) {
    base::Instant next = base::Instant::max();
    if (threads_.retiring() > 0) threads_.reap();  // their slots are wanted when the lane grows again
    if (threads_.staying() > config_.threads && !stopping_) {
      if (now >= next_retire_) {
        threads_.reap();  // one whose body could not be built has left by itself
        const unsigned retired = threads_.retire_idle(config_.threads, now - config_.retire_after);
        counters_.retired.fetch_add(retired, std::memory_order_relaxed);
        next_retire_ = now + std::max<base::Duration>(config_.retire_after / 8, std::chrono::milliseconds(1));
      }
      next = next_retire_;
    }
    return threads_.retiring() > 0 ? std::min(next, now + kLookEvery) : next;
  }

  const LaneConfig config_;
  const Main main_;
  const LaneClocks clocks_;
  RunningCount running_;
  Ring<Message> ring_;
  LaneCounters counters_;
  std::atomic<unsigned> starting_{0};
  base::Instant next_retire_{};
  base::Instant next_growth_{};
  GrowthGate growth_;
  unsigned pushed_ = 0;
  bool stopping_ = false;
  ThreadSet threads_;
};

}  // namespace m0::pool
