#include "m0/net/event_loop.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace m0::net {

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), now_(base::now()) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  epoll_event event{};
  // Edge-triggered: every write is a new edge, so the eventfd is never read (one system call a wake saved).
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, waker_.fd(), &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

void EventLoop::run(TurnSteps& steps) {
  thread_.rebind();
  base::Instant next_timer = base::Instant::min();
  base::Instant next_look = base::Instant::max();
  while (!stopping_) {
    thread_.check();
    ++turns_;
    // 1. poll
    base::Instant until = std::min(next_timer, next_look);
    if (until <= now_ || steps.work_left() || steps.spin()) {
      until = now_;
    } else {
      const base::Duration time = steps.nap();
      const bool naps = time > base::Duration::zero();
      waker_.announce_sleep(naps ? base::now() + time : until);
      if (steps.work_left()) {
        until = now_;
      } else if (naps) {
        nap(time);
        until = now_;
      }
    }
    const int ready = poll(until);
    waker_.awake();
    now_ = base::now();

    // 2. dispatch
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = events_[static_cast<std::size_t>(i)];
      // The null pointer is the waker's. A socket that was closed earlier in this loop of events is still there
      // (reap comes last) and knows that it is closed.
      if (event.data.ptr != nullptr) static_cast<Watched*>(event.data.ptr)->on_ready(event.events);
    }
    steps.again();
    // 3. drain
    steps.drain();
    // 4. timers
    next_timer = steps.timers(now_);
    // 5. write
    steps.write();
    // 6. interest
    apply_interest();
    // 7. hand over
    next_look = steps.hand_over(now_);
    // 8. reap
    steps.reap();
    apply_interest();  // what reaping made room for
  }
}

void EventLoop::nap(base::Duration time) {
  pollfd waker{waker_.fd(), POLLIN, 0};
  const timespec limit{0, static_cast<long>(time.count())};
  if (::ppoll(&waker, 1, &limit, nullptr) == 1) waker_.drain();  // poll() is level-triggered
}

int EventLoop::poll(base::Instant until) {
  const base::Duration wait = until == base::Instant::max() ? base::Duration::max()
                              : until <= now_               ? base::Duration::zero()
                                                            : until - std::min(until, base::now());
  int ready = -1;
  if (fine_timeouts_) {
    timespec limit{};
    limit.tv_sec = static_cast<time_t>(wait.count() / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(wait.count() % 1'000'000'000);
    const bool forever = wait == base::Duration::max();
    ready = ::epoll_pwait2(epoll_.get(), events_.data(), kEventsPerPoll, forever ? nullptr : &limit, nullptr);
    if (ready < 0 && errno == ENOSYS) fine_timeouts_ = false;
  }
  if (!fine_timeouts_) {
    // Rounded up to whole milliseconds: a deadline may be seen late, never early.
    const std::int64_t ms = wait == base::Duration::max() ? -1 : (wait.count() + 999'999) / 1'000'000;
    ready = ::epoll_wait(epoll_.get(), events_.data(), kEventsPerPoll,
                         static_cast<int>(std::min<std::int64_t>(ms, 60'000)));
  }
  // EINTR: this thread blocks signals, but a debugger or a stop signal interrupts all the same: an empty turn.
  if (ready < 0 && errno != EINTR) base::check_failed("epoll_wait", __FILE__, __LINE__);
  return std::max(ready, 0);
}

void EventLoop::add(Watched& watched, int fd, std::uint32_t events) {
  M0_CHECK(watched.watched_fd_ < 0);
  watched.watched_fd_ = fd;
  watched.armed_ = watched.wanted_ = events;
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watched;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return;
  // ENOSPC (the user's limit of watches) and ENOMEM: the caller's descriptor cannot be served.
  watched.watched_fd_ = -1;
  throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

void EventLoop::want(Watched& watched, std::uint32_t events) {
  watched.wanted_ = events;
  if (watched.wanted_ == watched.armed_ || watched.change_queued_ || watched.watched_fd_ < 0) return;
  watched.change_queued_ = true;
  changed_.push_back(&watched);
}

void EventLoop::remove(Watched& watched) noexcept {
  if (watched.watched_fd_ < 0) return;
  // EBADF or ENOENT cannot be: the descriptor is open and was added.
  static_cast<void>(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched.watched_fd_, nullptr));
  watched.watched_fd_ = -1;
}

void EventLoop::apply_interest() {
  for (Watched* watched : changed_) {
    watched->change_queued_ = false;
    if (watched->watched_fd_ < 0 || watched->wanted_ == watched->armed_) continue;
    epoll_event event{};
    event.events = watched->wanted_;
    event.data.ptr = watched;
    M0_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, watched->watched_fd_, &event) == 0);
    watched->armed_ = watched->wanted_;
  }
  changed_.clear();
}

}  // namespace m0::net
