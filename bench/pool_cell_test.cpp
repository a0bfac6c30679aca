#include "pool_cell.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

namespace m0::bench {
namespace {

using base::Duration;
using std::chrono::milliseconds;

constexpr Duration kBlock = milliseconds(20);

constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
constexpr std::string_view kRefusal = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";

/// A server of `threads` threads behind one queue, first come, first served; /slow sleeps for kBlock.
class Stub {
 public:
  explicit Stub(std::uint64_t threads)
      : threads_(threads), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const where = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_.get(), where, size) != 0 || ::listen(listener_.get(), 1024) != 0) std::abort();
    ::getsockname(listener_.get(), where, &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  Stub(const Stub&) = delete;
  Stub& operator=(const Stub&) = delete;

  /// The clients have gone by then, so every connection has ended.
  ~Stub() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    for (std::thread& connection : connections_) connection.join();
  }

  [[nodiscard]] CellPlan plan(unsigned blockers) const {
    CellPlan plan;
    plan.port = port_;
    plan.block = kBlock;
    plan.blockers = blockers;
    return plan;
  }

  std::atomic<int> fast_asked = 0;
  std::atomic<int> slow_at_first_fast = 0;  // in their handlers when the first fast question came
  std::atomic<bool> refuses_slow = false;
  std::atomic<bool> refuses_fast = false;
  std::atomic<bool> forgets_fast = false;
  std::atomic<Duration> delays_fast = Duration::zero();

 private:
  void accept_all() {
    for (;;) {
      base::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd) return;
      connections_.emplace_back([this, fd = std::move(fd)] { serve(fd.get()); });
    }
  }

  void serve(int fd) {
    std::array<char, 1024> buffer;
    for (ssize_t got = 0; (got = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0;) {
      const bool slow = std::string_view(buffer.data(), static_cast<std::size_t>(got)).starts_with("GET /slow ");
      if (!slow && ++fast_asked == 1) slow_at_first_fast = slow_running_.load();
      if (!slow && forgets_fast) continue;
      if (!slow) std::this_thread::sleep_for(delays_fast.load());
      const bool refused = slow ? refuses_slow : refuses_fast;
      if (!refused) handle(slow);
      const std::string_view answer = refused ? kRefusal : kAnswer;
      ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }

  void handle(bool slow) {
    std::unique_lock lock(mutex_);
    const std::uint64_t ticket = tickets_++;
    turn_.wait(lock, [&] { return ticket < ended_ + threads_; });
    lock.unlock();
    if (slow) {
      ++slow_running_;
      std::this_thread::sleep_for(kBlock);
      --slow_running_;
    }
    lock.lock();
    ++ended_;
    turn_.notify_all();
  }

  const std::uint64_t threads_;
  base::Fd listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> slow_running_ = 0;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::uint64_t tickets_ = 0;
  std::uint64_t ended_ = 0;
  std::list<std::thread> connections_;
  std::thread acceptor_;
};

TEST(PoolCell, AsksExactlyTheRequestsWantedBesideBlockersThatAreInTheirHandlers) {
  Stub stub(8);
  CellPlan plan = stub.plan(3);
  plan.requests = 50;
  const auto result = PoolCell(plan).run();
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->fast.count(), 50U);
  EXPECT_EQ(result->fast_errors + result->slow_errors, 0U);
  EXPECT_EQ(stub.fast_asked, 50);
  EXPECT_EQ(stub.slow_at_first_fast, 3);
}

TEST(PoolCell, NoBlockersNeedNoSettling) {
  Stub stub(1);
  CellPlan plan = stub.plan(0);
  plan.requests = 10;
  const auto result = PoolCell(plan).run();
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->fast.count(), 10U);
  EXPECT_EQ(result->slow_answered, 0U);
}

TEST(PoolCell, WhereEveryRequestWaitsTheLimitEndsItOnceEnoughAreAnswered) {
  Stub stub(1);
  CellPlan plan = stub.plan(2);
  plan.requests = 300;
  plan.limit = kBlock;  // passes before a single answer
  plan.at_least = 5;
  auto result = PoolCell(plan).run();
  ASSERT_TRUE(result) << result.error();
  EXPECT_GE(result->fast.count(), 5U);
  EXPECT_LE(result->fast.count(), 6U);
  EXPECT_GE(result->fast.percentile(0.5), kBlock)
      << "one thread, two blockers: each fast question waits for a slow one";
}

TEST(PoolCell, CountsTheSlowAnswersOfItsWindow) {
  Stub stub(4);
  CellPlan plan = stub.plan(4);
  plan.clients = 8;
  plan.think = milliseconds(1);
  plan.limit = 20 * kBlock;
  auto result = PoolCell(plan).run();
  ASSERT_TRUE(result) << result.error();
  const double rounds = result->window / std::chrono::duration<double, std::nano>(kBlock);
  EXPECT_GE(result->window, plan.limit);
  EXPECT_LE(static_cast<double>(result->slow_answered), 4 * (rounds + 1)) << "four threads cannot do more";
  EXPECT_GE(static_cast<double>(result->slow_answered), 4 * rounds / 2);
  EXPECT_DOUBLE_EQ(result->slow_per_second() * std::chrono::duration<double>(result->window).count(),
                   static_cast<double>(result->slow_answered));
}

TEST(PoolCell, AnOpenLoopChargesForEverybodyWhoCameMeanwhile) {
  Stub stub(1);
  CellPlan plan = stub.plan(1);
  plan.interval = kBlock / 40;
  plan.limit = 10 * kBlock;
  auto result = PoolCell(plan).run();
  ASSERT_TRUE(result) << result.error();
  // A client that waited for its answers would have asked about once a duration, and seen next to no wait.
  EXPECT_GE(result->fast.count(), 300U);
  EXPECT_GE(result->fast.percentile(0.5), kBlock / 8);
  EXPECT_EQ(result->fast_errors + result->unanswered, 0U);
}

TEST(PoolCell, AServerWhoseSlowRouteOnlyFailsIsNotMeasured) {
  Stub stub(1);
  stub.refuses_slow = true;
  const auto result = PoolCell(stub.plan(1)).run();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().find("/slow answered nobody"), std::string::npos) << result.error();
}

TEST(PoolCell, AServerWhoseFastRouteOnlyFailsIsNotMeasured) {
  Stub stub(1);
  stub.refuses_fast = true;
  CellPlan plan = stub.plan(0);
  plan.requests = 300;
  const auto result = PoolCell(plan).run();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().find("failed 200 questions"), std::string::npos) << result.error();
}

TEST(PoolCell, AQuestionThatIsNeverAnsweredCountsForAsLongAsItWaited) {
  Stub stub(1);
  stub.forgets_fast = true;
  CellPlan plan = stub.plan(0);
  plan.requests = 1;
  auto result = PoolCell(plan).run();
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->fast_errors, 0U);
  EXPECT_EQ(result->unanswered, 1U);
  EXPECT_EQ(result->fast.count(), 1U);
  EXPECT_GE(result->fast.percentile(1), 10 * kBlock);
}

TEST(PoolCell, AnAnswerThatComesWhileTheBlockersLeaveCountsOnce) {
  Stub stub(8);
  stub.delays_fast = 81 * kBlock / 4;  // given up after 20; the second of the blockers is back after 20.5 at least
  CellPlan plan = stub.plan(2);
  plan.requests = 1;
  const auto result = PoolCell(plan).run();
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->fast.count(), 1U);
}

}  // namespace
}  // namespace m0::bench
