#include "m0/handler/exchange.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "m0/base/clock.hpp"
#include "m0/pool/offload_pool.hpp"

namespace m0::handler {
namespace {

using namespace std::chrono_literals;

class ExchangeTest : public ::testing::Test {
 protected:
  /// Brings it to a phase, as the two threads would.
  void bring_to(Exchange& exchange, Phase phase) {
    if (phase == Phase::Gathering) return;
    exchange.submit();
    if (phase == Phase::Queued) return;
    if (phase == Phase::Abandoned) return exchange.abandon();
    ASSERT_TRUE(exchange.start());
    if (phase == Phase::Running) return;
    if (phase == Phase::Streaming) {
      exchange.window = std::make_unique<BodyWindow>();
      ASSERT_TRUE(exchange.start_streaming());
      return;
    }
    ASSERT_TRUE(exchange.finish());
  }

  BodyBudget budget_;
  Exchange exchange_{budget_};
};

TEST_F(ExchangeTest, ASizedAnswerGoesThroughItsPhases) {
  EXPECT_EQ(exchange_.phase(), Phase::Gathering);
  exchange_.submit();
  EXPECT_EQ(exchange_.phase(), Phase::Queued);
  EXPECT_TRUE(exchange_.start());
  EXPECT_EQ(exchange_.phase(), Phase::Running);
  EXPECT_FALSE(exchange_.abandoned());
  EXPECT_TRUE(exchange_.finish()) << "it has to be put on the list";
  const Exchange::Seen seen = exchange_.take_notice();
  EXPECT_EQ(seen.phase, Phase::Done);
  EXPECT_TRUE(seen.returned);
}

TEST_F(ExchangeTest, AStreamGivesNoticeAndEnds) {
  bring_to(exchange_, Phase::Streaming);
  EXPECT_EQ(exchange_.phase(), Phase::Streaming);
  EXPECT_TRUE(exchange_.notify());
  EXPECT_FALSE(exchange_.notify()) << "it is on the list already";
  Exchange::Seen seen = exchange_.take_notice();
  EXPECT_EQ(seen.phase, Phase::Streaming);
  EXPECT_FALSE(seen.returned);
  EXPECT_TRUE(exchange_.notify());
  EXPECT_FALSE(exchange_.finish()) << "it is on the list already";
  seen = exchange_.take_notice();
  EXPECT_EQ(seen.phase, Phase::Done);
  EXPECT_TRUE(seen.returned);
}

TEST_F(ExchangeTest, OnlyAQueuedOneStartsAndOnlyARunningOneStreams) {
  for (const Phase phase : {Phase::Gathering, Phase::Running, Phase::Streaming, Phase::Done, Phase::Abandoned}) {
    Exchange exchange(budget_);
    bring_to(exchange, phase);
    EXPECT_FALSE(exchange.start()) << static_cast<int>(phase);
    EXPECT_EQ(exchange.phase(), phase);
  }
  for (const Phase phase : {Phase::Gathering, Phase::Queued, Phase::Streaming, Phase::Done, Phase::Abandoned}) {
    Exchange exchange(budget_);
    bring_to(exchange, phase);
    EXPECT_FALSE(exchange.start_streaming()) << static_cast<int>(phase);
    EXPECT_EQ(exchange.phase(), phase);
  }
}

TEST_F(ExchangeTest, WhatTheLaneHadNoRoomForIsWithdrawn) {
  exchange_.submit();
  exchange_.withdraw();
  EXPECT_EQ(exchange_.phase(), Phase::Gathering);
  exchange_.submit();
  EXPECT_TRUE(exchange_.start());
}

TEST_F(ExchangeTest, AnAbandonedOneInTheQueueIsNotRunAndComesBack) {
  exchange_.submit();
  exchange_.abandon();
  EXPECT_TRUE(exchange_.abandoned());
  EXPECT_FALSE(exchange_.start());
  EXPECT_TRUE(exchange_.finish());
  const Exchange::Seen seen = exchange_.take_notice();
  EXPECT_EQ(seen.phase, Phase::Abandoned);
  EXPECT_TRUE(seen.returned);
}

TEST_F(ExchangeTest, AnAbandonedOneThatRunsFindsOutAndComesBackAbandoned) {
  bring_to(exchange_, Phase::Running);
  exchange_.abandon();
  EXPECT_TRUE(exchange_.abandoned());
  EXPECT_TRUE(exchange_.client_left());
  exchange_.window = std::make_unique<BodyWindow>();
  EXPECT_FALSE(exchange_.start_streaming());
  EXPECT_TRUE(exchange_.finish());
  const Exchange::Seen seen = exchange_.take_notice();
  EXPECT_EQ(seen.phase, Phase::Abandoned);
  EXPECT_TRUE(seen.returned);
}

TEST_F(ExchangeTest, AbandoningAStreamClosesItsWindow) {
  bring_to(exchange_, Phase::Streaming);
  EXPECT_TRUE(exchange_.notify());
  exchange_.abandon();
  EXPECT_TRUE(exchange_.window->closed());
  EXPECT_EQ(exchange_.window->try_write("more"), 0U);
  EXPECT_FALSE(exchange_.finish());
  const Exchange::Seen seen = exchange_.take_notice();
  EXPECT_EQ(seen.phase, Phase::Abandoned);
  EXPECT_TRUE(seen.returned);
}

TEST_F(ExchangeTest, AbandoningASecondTimeOrWhereThePoolHasItNotChangesNothing) {
  for (const Phase phase : {Phase::Gathering, Phase::Done, Phase::Abandoned}) {
    Exchange exchange(budget_);
    bring_to(exchange, phase);
    exchange.abandon();
    EXPECT_EQ(exchange.phase(), phase);
  }
}

TEST_F(ExchangeTest, AbandoningKeepsTheMarkOfTheList) {
  bring_to(exchange_, Phase::Running);
  ASSERT_TRUE(exchange_.notify());
  exchange_.abandon();
  EXPECT_FALSE(exchange_.notify());
  EXPECT_FALSE(exchange_.finish());
}

TEST_F(ExchangeTest, AHalfClosedClientHasLeftButIsAnswered) {
  bring_to(exchange_, Phase::Running);
  EXPECT_FALSE(exchange_.client_left());
  exchange_.peer_ended();
  EXPECT_TRUE(exchange_.client_left());
  EXPECT_FALSE(exchange_.abandoned());
  EXPECT_TRUE(exchange_.finish());
  EXPECT_EQ(exchange_.take_notice().phase, Phase::Done);
}

TEST_F(ExchangeTest, IsAsNewAfterAReset) {
  class Borrowed : public ForeignBytes {
   public:
    [[nodiscard]] std::string_view bytes() const noexcept override { return "borrowed"; }
    void give_back() noexcept override { ++given_back; }
    int given_back = 0;
  };
  Borrowed borrowed;
  EXPECT_EQ(exchange_.body.append(std::string(70'000, 'x')), BodyAppend::Ok);
  bring_to(exchange_, Phase::Streaming);
  exchange_.response.body.kind = ResponseBody::Kind::Foreign;
  exchange_.response.body.foreign = &borrowed;
  exchange_.response.head.status = 404;
  exchange_.aborted = true;
  exchange_.peer_ended();
  EXPECT_TRUE(exchange_.notify());
  EXPECT_FALSE(exchange_.finish());
  EXPECT_TRUE(exchange_.take_notice().returned);

  exchange_.reset();
  EXPECT_EQ(exchange_.phase(), Phase::Gathering);
  EXPECT_EQ(borrowed.given_back, 1);
  EXPECT_EQ(exchange_.body.size(), 0U);
  EXPECT_EQ(budget_.disk_used + budget_.memory_used, 0U);
  EXPECT_EQ(exchange_.response.head.status, 200);
  EXPECT_EQ(exchange_.response.body.kind, ResponseBody::Kind::Bytes);
  EXPECT_EQ(exchange_.window, nullptr);
  EXPECT_FALSE(exchange_.aborted);
  EXPECT_FALSE(exchange_.client_left());
  exchange_.submit();
  EXPECT_TRUE(exchange_.start());
  EXPECT_TRUE(exchange_.finish());
  EXPECT_TRUE(exchange_.take_notice().returned);
  exchange_.reset();
  EXPECT_EQ(borrowed.given_back, 1) << "once";
}

// The two threads meet at every step; the loop frees an exchange as soon as it sees that the pool let go of it, and a
// second look at it would be one at freed memory.
class ExchangeRace : public ::testing::Test {
 protected:
  struct Outcome {
    int freed = 0;
    int abandoned = 0;
    int streamed = 0;
  };

  /// Runs `rounds` exchanges through a pool; `turn(exchange, round)` is the loop's doing between submit and return.
  Outcome run(int rounds, const std::function<void(pool::PoolThread<Exchange>&, Exchange&)>& handle,
              const std::function<void(Exchange&, int)>& turn) {
    Outcome outcome;
    base::Waker waker;
    pool::OffloadPool<Exchange> pool(waker, 0);
    pool.add_lane({.threads = 2, .max_threads = 2, .parallelism = 2}, [&](pool::PoolThread<Exchange>& thread) {
      thread.ready();
      while (Exchange* exchange = thread.take()) {
        handle(thread, *exchange);
        thread.complete(*exchange);
      }
    });
    EXPECT_EQ(pool.start(), "");
    BodyBudget budget;
    for (int round = 0; round < rounds; ++round) {
      auto exchange = std::make_unique<Exchange>(budget);
      exchange->submit();
      EXPECT_TRUE(pool.submit(0, *exchange));
      pool.hand_over();
      const base::Instant deadline = base::now() + 20s;
      for (int step = 0; exchange != nullptr && base::now() < deadline; ++step) {
        if (step == round % 13) turn(*exchange, round);
        pool.drain([&](Exchange& came) {
          const Exchange::Seen seen = came.take_notice();
          EXPECT_EQ(&came, exchange.get());
          if (seen.phase == Phase::Streaming) {
            ++outcome.streamed;
            came.window->consume(came.window->readable().size());
          }
          if (!seen.returned) return;
          ++outcome.freed;
          if (seen.phase == Phase::Abandoned) ++outcome.abandoned;
          exchange.reset();
        });
      }
      EXPECT_EQ(exchange, nullptr) << "round " << round << " did not come back";
      if (exchange != nullptr) break;
    }
    pool.stop();
    EXPECT_TRUE(pool.join_until(base::now() + 20s));
    EXPECT_TRUE(pool.nothing_came_back()) << "freed once, and then not seen again";
    return outcome;
  }
};

TEST_F(ExchangeRace, AbandonedAtAnyMomentItIsFreedOnce) {
  const Outcome outcome = run(
      2'000,
      [](pool::PoolThread<Exchange>& thread, Exchange& exchange) {
        if (!exchange.start()) return;
        exchange.window = std::make_unique<BodyWindow>();
        if (!exchange.start_streaming()) return;
        thread.notify(exchange);
        for (int i = 0; i < 5 && exchange.window->try_write("some bytes") > 0; ++i) thread.notify(exchange);
      },
      [](Exchange& exchange, int) { exchange.abandon(); });
  EXPECT_EQ(outcome.freed, 2'000);
  EXPECT_GE(outcome.abandoned, 1);
}

TEST_F(ExchangeRace, ANoticeAndTheEndAreNeverBothOnTheList) {
  const Outcome outcome = run(
      2'000,
      [](pool::PoolThread<Exchange>& thread, Exchange& exchange) {
        if (!exchange.start()) return;
        exchange.window = std::make_unique<BodyWindow>();
        if (!exchange.start_streaming()) return;
        for (int i = 0; i < 20; ++i) thread.notify(exchange);
      },
      [](Exchange&, int) {});
  EXPECT_EQ(outcome.freed, 2'000);
  EXPECT_EQ(outcome.abandoned, 0);
}

TEST_F(ExchangeRace, AProducerThatWaitsForRoomComesBackWhenItIsAbandoned) {
  const Outcome outcome = run(
      300,
      [](pool::PoolThread<Exchange>& thread, Exchange& exchange) {
        if (!exchange.start()) return;
        exchange.window = std::make_unique<BodyWindow>();
        if (!exchange.start_streaming()) return;
        const std::string piece(50'000, 'x');
        while (!exchange.window->closed()) {  // endless, until nobody reads
          if (exchange.window->try_write(piece) < piece.size()) {
            thread.notify(exchange);
            exchange.window->wait_for_room();
          }
        }
      },
      [](Exchange& exchange, int) { exchange.abandon(); });
  EXPECT_EQ(outcome.freed, 300);
  EXPECT_EQ(outcome.abandoned, 300);
}

}  // namespace
}  // namespace m0::handler
