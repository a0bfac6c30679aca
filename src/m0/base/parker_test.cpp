#include "m0/base/parker.hpp"

namespace m0::base {
namespace {

using namespace std::chrono_literals;

TEST(Parker, AWakeBeforeTheWaitIsKept) {
  Parker parker;
  parker.wake();
  parker.wait();  // returns at once, or the test hangs
  EXPECT_FALSE(parker.wait_until(now()));
}

TEST(Parker, KeepsOneTokenOnly) {
  Parker parker;
  parker.wake();
  parker.wake();
  EXPECT_TRUE(parker.wait_until(now() + 10s));
  EXPECT_FALSE(parker.wait_until(now() + 1ms));
}

TEST(Parker, ADeadlineInThePastReturns) {
  Parker parker;
  EXPECT_FALSE(parker.wait_until(now() - 1s));
  EXPECT_FALSE(parker.wait_until(from_ns(1)));
}

TEST(Parker, ATokenBeatsAnExpiredDeadline) {
  Parker parker;
  parker.wake();
  EXPECT_TRUE(parker.wait_until(now() - 1s));
}

TEST(Parker, WorksAgainAfterATimeout) {
  Parker parker;
  EXPECT_FALSE(parker.wait_until(now() + 1ms));
  parker.wake();
  EXPECT_TRUE(parker.wait_until(now() + 10s));
}

TEST(Parker, WaitsForAtLeastTheTimeAsked) {
  Parker parker;
  const Instant deadline = now() + 5ms;
  EXPECT_FALSE(parker.wait_until(deadline));
  EXPECT_GE(now(), deadline);
}

TEST(Parker, TwoThreadsHandAValueBackAndForth) {
  Parker ping;
  Parker pong;
  int value = 0;  // no atomic: the parkers order it, or thread sanitizer says they do not
  std::thread other([&] {
    for (int i = 0; i < 5'000; ++i) {
      ping.wait();
      ++value;
      pong.wake();
    }
  });
  for (int i = 0; i < 5'000; ++i) {
    ++value;
    ping.wake();
    pong.wait();
  }
  other.join();
  EXPECT_EQ(value, 10'000);
}

TEST(Parker, NoWakeIsLostAgainstShortDeadlines) {
  Parker parker;
  Parker answer;
  std::thread waker([&] {
    for (int i = 0; i < 2'000; ++i) {
      parker.wake();
      answer.wait();
    }
  });
  for (int i = 0; i < 2'000; ++i) {
    const Instant bound = now() + 20s;
    bool woken = false;
    while (!woken && now() < bound) woken = parker.wait_until(now() + 20us);
    ASSERT_TRUE(woken);
    answer.wake();
  }
  waker.join();
}

}  // namespace
}  // namespace m0::base
