#pragma once
// Jobs to threads and back: lanes, one completion list, and the wake of the loop that waits for it.

#include <atomic>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "m0/base/clock.hpp"
#include "m0/base/logger.hpp"
#include "m0/base/parker.hpp"
#include "m0/base/waker.hpp"
#include "m0/pool/completion_list.hpp"
#include "m0/pool/lane.hpp"
#include "m0/pool/thread_context.hpp"

namespace m0::pool {

/// What can be offloaded: it can lie on the completion list and decides itself, atomically, whether it must be put
/// there.
template <class T>
concept Returnable = std::derived_from<T, CompletionNode> && requires(T& job) {
  { job.finish() } noexcept -> std::same_as<bool>;
  { job.notify() } noexcept -> std::same_as<bool>;
};

/// Answers that go back before the loop is woken, while more jobs wait (the loop sends a batch with one wake).
inline constexpr unsigned kAnswersPerWake = 64;

/// A finished answer may wait so long for the loop to wake by itself, while the last job of its batch runs.
inline constexpr base::Duration kAnswerMayWait = kLookAges.front();

template <Returnable T>
class OffloadPool;

/// A pool thread's side. That thread only.
template <Returnable T>
class PoolThread {
 public:
  [[nodiscard]] const ThreadContext& context() const noexcept { return context_; }

  /// The thread's body is built. Called once before the first take(); throwing instead refuses the start.
  void ready() {
    reported_ = true;
    pool_->thread_started({});
  }

  /// Waits for a job; nullptr: leave. Not while holding a lock that another thread needs to make progress.
  [[nodiscard]] T* take() {
    announce();
    return lane_.take().value_or(nullptr);
  }

  /// The next job if there is one and this thread may go on; never waits.
  [[nodiscard]] T* take_now() {
    T* job = lane_.take_now().value_or(nullptr);
    if (job == nullptr || deferred_ == 0) return job;
    // The last of a batch may block: the answers before it must not wait for it. While more jobs wait, the loop comes
    // to look at this thread within kOvertakeAfter and finds them; and a loop that went to sleep while jobs waited
    // mostly wakes by itself soon enough: then the batch costs one wake and not two.
    if (deferred_ >= kAnswersPerWake) {
      announce();
    } else if (lane_.queue_empty() && pool_->loop_.wake_unless_before(lane_.began() + kAnswerMayWait)) {
      deferred_ = 0;
    }
    return job;
  }

  /// The job taken last is done: hands it back.
  void complete(T& job) noexcept {
    const bool watcher_sleeps = lane_.finished();
    if (job.finish()) {
      pool_->completions_.push(job);
      ++deferred_;
    }
    if (watcher_sleeps) {
      deferred_ = 0;
      pool_->loop_.wake();
    }
  }

  /// The loop should look at this job, which goes on (a stream has bytes).
  void notify(T& job) noexcept {
    if (!job.notify()) return;
    pool_->completions_.push(job);
    pool_->loop_.wake();
    deferred_ = 0;
  }

  /// When the job taken last was taken.
  [[nodiscard]] base::Instant began() const noexcept { return lane_.began(); }

 private:
  friend class OffloadPool<T>;
  PoolThread(OffloadPool<T>& pool, LaneThread<T*>& lane, ThreadContext context)
      : pool_(&pool), lane_(lane), context_(context) {}

  void announce() noexcept {
    if (deferred_ == 0) return;
    deferred_ = 0;
    pool_->loop_.wake();
  }

  OffloadPool<T>* pool_;
  LaneThread<T*>& lane_;
  ThreadContext context_;
  unsigned deferred_ = 0;
  bool reported_ = false;
};

/// Built, used and destroyed on the loop's thread (which may be the one that starts it: start() waits for `make`).
template <Returnable T>
class OffloadPool {
 public:
  /// Builds the thread's body, calls ready(), takes jobs until there are none.
  using ThreadMain = std::function<void(PoolThread<T>&)>;

  OffloadPool(base::Waker& loop, unsigned worker) : loop_(loop), worker_(worker) {}
  OffloadPool(const OffloadPool&) = delete;
  OffloadPool& operator=(const OffloadPool&) = delete;
  /// Waits for every thread. A process that will not wait for one that is stuck leaves by _exit instead.
  ~OffloadPool() = default;

  /// Before start(). Gives the lane's index.
  std::size_t add_lane(LaneConfig config, ThreadMain main, LaneClocks clocks = {}) {
    const auto name = std::make_shared<const std::string>(config.name);
    lanes_.push_back(std::make_unique<Lane<T*>>(
        std::move(config),
        [this, name, body = std::move(main)](LaneThread<T*>& lane) {
          PoolThread<T> thread(*this, lane, {worker_, *name, lane.index()});
          run(body, thread);
        },
        std::move(clocks)));
    return lanes_.size() - 1;
  }

  /// Starts every lane's threads and waits until each has built its body. Empty, or the first failure's sentence:
  /// then stop() and join as ever.
  [[nodiscard]] std::string start() {
    std::size_t wanted = 0;
    for (auto& lane : lanes_) {
      wanted += lane->config().threads;
      if (!lane->start()) return "the system gives no more threads; lower --blocking-threads or raise its limit";
    }
    for (;;) {
      {
        const std::lock_guard lock(start_mutex_);
        if (started_ >= wanted) {
          serving_ = true;
          return first_failure_;
        }
      }
      starter_.wait();
    }
  }

  /// False: the lane's queue is full. hand_over() must follow, once a turn.
  [[nodiscard]] bool submit(std::size_t lane, T& job) { return lanes_[lane]->push(&job); }

  /// Wakes what this turn's submissions need.
  void hand_over() {
    for (auto& lane : lanes_) lane->wake();
  }

  /// Jobs that wait for a thread, in all lanes.
  [[nodiscard]] std::size_t waiting() const noexcept {
    std::size_t jobs = 0;
    for (const auto& lane : lanes_) jobs += lane->waiting();
    return jobs;
  }

  /// Watches every lane; returns when it wants to be asked again at the latest. To be asked every turn: after
  /// hand_over(), and after drain().
  base::Instant tend(base::Instant now) {
    base::Instant next = base::Instant::max();
    for (auto& lane : lanes_) next = std::min(next, lane->tend(now));
    return next;
  }

  /// Calls visit(job) for each job that came back or gave notice.
  template <class Visit>
  void drain(Visit&& visit) {
    completions_.take(std::forward<Visit>(visit));
  }
  [[nodiscard]] bool nothing_came_back() const noexcept { return completions_.empty(); }

  void stop() {
    for (auto& lane : lanes_) lane->stop();
  }
  /// True when every thread has left. The caller goes on draining meanwhile.
  [[nodiscard]] bool joined() {
    bool all = true;
    for (auto& lane : lanes_) {
      lane->threads().reap();
      all = all && lane->live() == 0;
    }
    return all;
  }
  [[nodiscard]] bool join_until(base::Instant deadline) {
    bool all = true;
    for (auto& lane : lanes_) all = lane->join_until(deadline) && all;
    return all;
  }

  [[nodiscard]] std::size_t lanes() const noexcept { return lanes_.size(); }
  [[nodiscard]] Lane<T*>& lane(std::size_t index) noexcept { return *lanes_[index]; }

 private:
  friend class PoolThread<T>;

  void run(const ThreadMain& body, PoolThread<T>& thread) noexcept {
    try {
      body(thread);
      if (!thread.reported_) thread_started("a pool thread ended before it was built");
    } catch (const std::exception& failure) {
      if (thread.reported_) std::terminate();  // a body that serves throws nothing
      thread_started(failure.what());
    } catch (...) {
      if (thread.reported_) std::terminate();
      thread_started("a pool thread could not be built");
    }
    thread.announce();
  }

  void thread_started(std::string failure) {
    {
      const std::lock_guard lock(start_mutex_);
      ++started_;
      // One that a lane added later: nobody asks for its failure, and the lane goes on with those it has.
      if (!failure.empty() && serving_) {
        base::log::error("a thread that was to be added could not be built: {}", failure);
      } else if (!failure.empty() && first_failure_.empty()) {
        first_failure_ = std::move(failure);
      }
    }
    starter_.wake();
  }

  base::Waker& loop_;
  const unsigned worker_;
  CompletionList<T> completions_;

  // Start-up only: never taken while serving, but by a grown thread that reports itself.
  std::mutex start_mutex_;
  std::size_t started_ = 0;
  std::string first_failure_;
  bool serving_ = false;  // start() has returned
  base::Parker starter_;

  std::vector<std::unique_ptr<Lane<T*>>> lanes_;
};

}  // namespace m0::pool
