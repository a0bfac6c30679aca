#pragma once
// The loop: one thread, one epoll, and the order of things inside one turn.
//
//   1. poll           wait for sockets, the waker, or the nearest deadline; do not wait while work is left over. Before
//                     it sleeps the loop may spin for some microseconds, for an answer that is about to come. While the
//                     pools are busy with a batch it first naps: it waits for the waker alone, so that requests which
//                     arrive meanwhile are read in one go instead of one wake each
//   2. dispatch       each ready socket is read; then connections that have more to do than their budget allowed
//   3. drain          what pool threads sent back
//   4. timers         sweeps and housekeeping that are due
//   5. write          everything queued for a connection goes out in one system call
//   6. interest       changes of what epoll watches, once a socket
//   7. hand over      the turn's jobs go to the pools in one batch, and their lanes are watched (tend)
//   8. reap           what was closed during the turn is destroyed

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <vector>

#include "m0/base/check.hpp"
#include "m0/base/clock.hpp"
#include "m0/base/fd.hpp"
#include "m0/base/waker.hpp"

namespace m0::net {

/// Something with a descriptor in the loop. The loop's thread only.
class Watched {
 public:
  /// EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLHUP, EPOLLERR. May close this or another watched object: closing marks, and
  /// the object is destroyed at the end of the turn.
  virtual void on_ready(std::uint32_t events) = 0;

 protected:
  Watched() = default;
  virtual ~Watched() = default;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  friend class EventLoop;
  std::uint32_t armed_ = 0;
  std::uint32_t wanted_ = 0;
  int watched_fd_ = -1;
  bool change_queued_ = false;
};

/// What the owner of a loop does inside a turn.
class TurnSteps {
 public:
  /// 2: connections with a leftover of their budget.
  virtual void again() = 0;
  /// 3.
  virtual void drain() = 0;
  /// 4: does what is due and returns the next time it wants the loop to be awake. Called every turn; cheap when nothing
  /// is due.
  virtual base::Instant timers(base::Instant now) = 0;
  /// 5.
  virtual void write() = 0;
  /// 7: returns when the lanes want to be looked at again.
  virtual base::Instant hand_over(base::Instant now) = 0;
  /// 1: looks for some microseconds whether something comes back, where that is likely; asked before a poll that would
  /// wait. True: it came.
  virtual bool spin() = 0;
  /// 1: how long the sockets may wait because the pools have enough to do; asked before a poll that would wait. Zero:
  /// not at all.
  virtual base::Duration nap() = 0;
  /// 8.
  virtual void reap() = 0;
  /// Whether the next poll must not wait: a step has something left over, or another thread sent something. Asked once
  /// more after the loop has announced that it sleeps.
  virtual bool work_left() = 0;

 protected:
  ~TurnSteps() = default;
};

/// run() and everything else: one thread. stop() too; other threads set a flag of their own and use the waker.
class EventLoop {
 public:
  /// Throws std::system_error when the kernel gives no epoll or eventfd.
  EventLoop();

  void run(TurnSteps& steps);
  /// Leaves run() at the end of this turn.
  void stop() noexcept { stopping_ = true; }

  /// Watches `fd` for `events` from the end of this turn on; 0 events: only errors and hang-ups.
  void add(Watched& watched, int fd, std::uint32_t events);
  /// Changes what is watched, at the end of this turn.
  void want(Watched& watched, std::uint32_t events);
  [[nodiscard]] std::uint32_t wanted(const Watched& watched) const noexcept { return watched.wanted_; }
  /// Forgets it now, before its descriptor is closed: another process may hold a copy, and epoll would go on reporting.
  void remove(Watched& watched) noexcept;

  [[nodiscard]] base::Waker& waker() noexcept { return waker_; }
  /// The time at which this turn's poll returned.
  [[nodiscard]] base::Instant now() const noexcept { return now_; }
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_; }

 private:
  int poll(base::Instant until);
  void nap(base::Duration time);
  void apply_interest();

  static constexpr int kEventsPerPoll = 512;

  base::Fd epoll_;
  base::Waker waker_;
  std::vector<Watched*> changed_;
  std::array<epoll_event, kEventsPerPoll> events_{};
  base::Instant now_;
  std::uint64_t turns_ = 0;
  bool stopping_ = false;
  bool fine_timeouts_ = true;  // false once the kernel said it has no epoll_pwait2
  base::ThreadChecker thread_;
};

}  // namespace m0::net
