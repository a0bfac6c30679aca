#include "m0/base/waker.hpp"

#include <fcntl.h>
#include <poll.h>

#include <deque>

namespace m0::base {
namespace {

bool readable(int fd, int within_ms = 0) {
  pollfd ask{fd, POLLIN, 0};
  return ::poll(&ask, 1, within_ms) == 1;
}

TEST(Waker, WritesNothingWhileNobodySleeps) {
  Waker waker;
  EXPECT_FALSE(waker.wake());
  EXPECT_FALSE(readable(waker.fd()));
}

TEST(Waker, WritesOnceAnAnnouncement) {
  Waker waker;
  waker.announce_sleep();
  EXPECT_TRUE(waker.wake());
  EXPECT_FALSE(waker.wake());
  EXPECT_TRUE(readable(waker.fd()));
}

TEST(Waker, LeavesASleeperAloneThatWakesByItself) {
  Waker waker;
  waker.announce_sleep(from_ns(1000));
  EXPECT_FALSE(waker.wake_unless_before(from_ns(1000)));
  EXPECT_FALSE(readable(waker.fd()));
  EXPECT_TRUE(waker.wake_unless_before(from_ns(999)));
  EXPECT_TRUE(readable(waker.fd()));
  EXPECT_FALSE(waker.wake_unless_before(from_ns(999)));
}

TEST(Waker, ASleeperWithoutADeadlineIsAlwaysWoken) {
  Waker waker;
  waker.announce_sleep();
  EXPECT_TRUE(waker.wake_unless_before(from_ns(1'000'000'000'000)));
}

TEST(Waker, DrainingEmptiesIt) {
  Waker waker;
  waker.announce_sleep();
  ASSERT_TRUE(waker.wake());
  waker.drain();
  EXPECT_FALSE(readable(waker.fd()));
  waker.drain();  // nothing there: does not wait
}

TEST(Waker, WakesAreFreeOnceAwake) {
  Waker waker;
  waker.announce_sleep();
  waker.awake();
  EXPECT_FALSE(waker.wake());
  EXPECT_FALSE(readable(waker.fd()));
}

TEST(Waker, DescriptorIsNonBlockingAndNotInherited) {
  Waker waker;
  EXPECT_NE(::fcntl(waker.fd(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(waker.fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Waker, NoWakeIsLostBetweenTwoThreads) {
  constexpr int kItems = 20'000;
  Waker waker;
  std::atomic<int> published{0};
  std::thread producer([&] {
    for (int i = 1; i <= kItems; ++i) {
      published.store(i, std::memory_order_seq_cst);
      waker.wake();
    }
  });
  bool lost = false;
  while (published.load() != kItems && !lost) {
    const int before = published.load();
    waker.announce_sleep();
    if (published.load(std::memory_order_seq_cst) == before) lost = !readable(waker.fd(), 10'000);
    waker.awake();
    waker.drain();
  }
  producer.join();
  EXPECT_FALSE(lost);
}

}  // namespace
}  // namespace m0::base
