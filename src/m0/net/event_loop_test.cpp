#include "m0/net/event_loop.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <thread>

namespace m0::net {
namespace {

using namespace std::chrono_literals;

/// Writes down which step came when; a test hooks into the steps it is about.
class Steps : public TurnSteps {
 public:
  virtual ~Steps() = default;

  void again() override { order += 'a'; }
  void drain() override {
    order += 'd';
    if (on_drain) on_drain();
  }
  base::Instant timers(base::Instant) override {
    order += 't';
    return next_timer;
  }
  void write() override { order += 'w'; }
  base::Instant hand_over(base::Instant) override {
    order += 'h';
    return next_look;
  }
  bool spin() override {
    ++spins;
    return came;
  }
  base::Duration nap() override { return nap_for; }
  void reap() override {
    order += 'r';
    if (on_reap) on_reap();
  }
  bool work_left() override { return on_work_left ? on_work_left() : false; }

  std::string order;
  base::Instant next_timer = base::Instant::max();
  base::Instant next_look = base::Instant::max();
  unsigned spins = 0;
  bool came = false;
  base::Duration nap_for{};
  std::function<void()> on_drain;
  std::function<void()> on_reap;
  std::function<bool()> on_work_left;
};

class Socket : public Watched {
 public:
  void on_ready(std::uint32_t events) override {
    seen.push_back(events);
    if (then) then();
  }
  std::vector<std::uint32_t> seen;
  std::function<void()> then;
};

struct Pair {
  Pair() {
    std::array<int, 2> fds{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()) != 0) std::abort();
    ours = base::Fd(fds[0]);
    theirs = base::Fd(fds[1]);
  }
  void arrive() const { EXPECT_EQ(::write(theirs.get(), "x", 1), 1); }
  base::Fd ours;
  base::Fd theirs;
};

TEST(EventLoop, TheStepsOfATurnHaveTheirOrder) {
  EventLoop loop;
  Steps steps;
  steps.next_timer = base::Instant::min();
  steps.on_reap = [&] { loop.stop(); };
  loop.run(steps);
  EXPECT_EQ(steps.order, "adtwhr");
}

TEST(EventLoop, AReadySocketIsDispatchedBeforeTheOtherSteps) {
  EventLoop loop;
  Steps steps;
  Pair pair;
  Socket socket;
  socket.then = [&] {
    steps.order += 'S';
    loop.stop();
  };
  loop.add(socket, pair.ours.get(), EPOLLIN);
  pair.arrive();
  loop.run(steps);
  EXPECT_EQ(steps.order, "Sadtwhr");
  loop.remove(socket);
}

TEST(EventLoop, AWakeFromAnotherThreadEndsTheWaitAndCanBeRepeated) {
  EventLoop loop;
  Steps steps;
  std::atomic<int> wanted{0};
  std::atomic<int> seen{0};
  steps.on_work_left = [&] { return wanted.load() != seen.load(); };
  steps.on_drain = [&] {
    seen = wanted.load();
    if (seen.load() == 3) loop.stop();
  };
  std::thread other([&] {
    for (int i = 1; i <= 3; ++i) {
      wanted.store(i);
      while (seen.load() < i) {
        loop.waker().wake();
        std::this_thread::yield();
      }
    }
  });
  loop.run(steps);
  other.join();
  EXPECT_EQ(seen, 3);
}

TEST(EventLoop, InterestChangesOnceATurnAndCanBeTakenBack) {
  EventLoop loop;
  Steps steps;
  Pair pair;
  Socket socket;
  int turns = 0;
  loop.add(socket, pair.ours.get(), EPOLLIN);
  pair.arrive();
  steps.next_timer = base::Instant::min();  // no waiting
  socket.then = [&] { loop.want(socket, 0); };
  steps.on_reap = [&] {
    if (++turns == 5) loop.want(socket, EPOLLIN);
    if (turns == 8) loop.stop();
  };
  loop.run(steps);
  // Level-triggered: reported once, then not while it was not wanted, then once more.
  EXPECT_EQ(socket.seen.size(), 2U);
  loop.remove(socket);
}

TEST(EventLoop, ASocketThatWasRemovedIsNotReportedAgain) {
  EventLoop loop;
  Steps steps;
  Pair pair;
  Socket socket;
  int turns = 0;
  loop.add(socket, pair.ours.get(), EPOLLIN);
  pair.arrive();
  steps.next_timer = base::Instant::min();
  socket.then = [&] { loop.remove(socket); };
  steps.on_reap = [&] {
    if (++turns == 4) loop.stop();
  };
  loop.run(steps);
  EXPECT_EQ(socket.seen.size(), 1U);
}

TEST(EventLoop, ADeadlineEndsTheWait) {
  EventLoop loop;
  Steps steps;
  const base::Instant deadline = base::now() + 5ms;
  steps.next_timer = deadline;
  int turns = 0;
  steps.on_reap = [&] {
    if (++turns == 2) loop.stop();
  };
  loop.run(steps);
  EXPECT_GE(base::now(), deadline);
}

TEST(EventLoop, WhatASpinFoundIsNotSleptOver) {
  EventLoop loop;
  Steps steps;
  steps.came = true;
  unsigned turns = 0;
  steps.on_reap = [&] {
    if (++turns == 5) loop.stop();
  };
  loop.run(steps);  // no deadline and no socket: a poll that waited would wait for ever
  EXPECT_EQ(steps.spins, 4U) << "not before the first poll, which is due at once";
  EXPECT_EQ(steps.order.substr(0, 5), "adtwh") << "and each turn is a whole one";
}

TEST(EventLoop, NothingIsSpunForWhileWorkIsLeft) {
  EventLoop loop;
  Steps steps;
  unsigned turns = 0;
  steps.on_work_left = [] { return true; };
  steps.on_reap = [&] {
    if (++turns == 5) loop.stop();
  };
  loop.run(steps);
  EXPECT_EQ(steps.spins, 0U);
}

TEST(EventLoop, ANapIsForTheWakerAloneAndThenTheSocketsHaveTheirTurn) {
  EventLoop loop;
  Steps steps;
  Pair pair;
  Socket socket;
  loop.add(socket, pair.ours.get(), EPOLLIN);
  constexpr auto kNap = 20ms;
  steps.nap_for = kNap;
  base::Instant began{};
  base::Instant reported{};
  steps.on_reap = [&] {  // the first turn of a loop does not wait
    if (began != base::Instant{}) return;
    began = base::now();
    pair.arrive();
  };
  socket.then = [&] {
    reported = base::now();
    loop.stop();
  };
  loop.run(steps);
  // Its byte was there all the time.
  EXPECT_GE(reported - began, kNap);
  loop.remove(socket);
}

TEST(EventLoop, AWakeEndsANap) {
  EventLoop loop;
  Steps steps;
  steps.nap_for = 900ms;  // the longest a nap can say
  // The first turn does not wait; the second naps.
  steps.on_drain = [&] {
    if (loop.turns() == 2) loop.stop();
  };
  std::thread other([&] {
    while (!loop.waker().wake()) std::this_thread::yield();
  });
  const base::Instant began = base::now();
  loop.run(steps);
  other.join();
  EXPECT_LT(base::now() - began, 900ms);
}

}  // namespace
}  // namespace m0::net
