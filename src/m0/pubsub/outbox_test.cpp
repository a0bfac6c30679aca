#include "m0/pubsub/outbox.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "m0/pubsub/event_log_test_support.hpp"

namespace m0::pubsub::testing {
namespace {

using std::chrono::milliseconds;

class OutboxTest : public ::testing::Test {
 protected:
  ~OutboxTest() override { let_go(); }

  /// Another process holds the log until let_go().
  void hold_log() {
    holder_ = ::fork();
    if (holder_ == 0) {
      EventLog::set_step_hook([](AppendStep at) {
        if (at == AppendStep::Locked) ::raise(SIGSTOP);
      });
      static_cast<void>(log_.append({.channel = "holder", .data = "never"}));
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(holder_, &status, WUNTRACED), holder_);
    ASSERT_TRUE(WIFSTOPPED(status));
  }
  void let_go() {
    if (holder_ <= 0) return;
    ::kill(holder_, SIGKILL);
    ::waitpid(holder_, nullptr, 0);
    holder_ = 0;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> found;
    for (const Held& held : everything(log_)) found.push_back(held.data);
    return found;
  }

  EventLog log_{small_log()};
  Outbox outbox_{log_};
  base::Instant now_{};
  pid_t holder_ = 0;
};

TEST_F(OutboxTest, PublishesAtOnceWhenItCan) {
  EXPECT_EQ(outbox_.publish({.channel = "a", .data = "1"}, now_), (EventId{log_.epoch(), 1}));
  EXPECT_EQ(outbox_.waiting(), 0u);
  EXPECT_EQ(outbox_.retry(now_), base::Instant::max());
}

TEST_F(OutboxTest, WhatFindsTheLogHeldIsPublishedLaterInOrder) {
  hold_log();
  for (const char* const text : {"1", "2", "3"}) {
    const auto said = outbox_.publish({.channel = "a", .data = text}, now_);
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error(), PublishError::Queued);
  }
  EXPECT_EQ(outbox_.retry(now_), now_ + Outbox::kRetryEvery);
  EXPECT_EQ(outbox_.waiting(), 3u);
  let_go();
  // Behind those that wait, although the log is free.
  EXPECT_EQ(outbox_.publish({.channel = "a", .data = "4"}, now_).error(), PublishError::Queued);
  EXPECT_EQ(outbox_.retry(now_), base::Instant::max());
  EXPECT_EQ(texts(), (std::vector<std::string>{"1", "2", "3", "4"}));
}

TEST_F(OutboxTest, IsGivenUpAfterASecond) {
  hold_log();
  static_cast<void>(outbox_.publish({.channel = "a", .data = "early"}, now_));
  static_cast<void>(outbox_.publish({.channel = "a", .data = "late"}, now_ + milliseconds(500)));
  EXPECT_NE(outbox_.retry(now_ + milliseconds(999)), base::Instant::max());
  EXPECT_EQ(outbox_.waiting(), 2u);
  EXPECT_NE(outbox_.retry(now_ + milliseconds(1000)), base::Instant::max());
  EXPECT_EQ(outbox_.waiting(), 1u);
  let_go();
  EXPECT_EQ(outbox_.retry(now_ + milliseconds(1100)), base::Instant::max());
  EXPECT_EQ(texts(), std::vector<std::string>{"late"});
}

TEST_F(OutboxTest, HasABound) {
  hold_log();
  const std::string data(4000, 'x');
  PublishError last = PublishError::Queued;
  std::size_t queued = 0;
  while (last == PublishError::Queued) {
    last = outbox_.publish({.channel = "a", .data = data}, now_).error();
    if (last == PublishError::Queued) ++queued;
    ASSERT_LT(queued, 10'000u);
  }
  EXPECT_EQ(last, PublishError::Busy);
  EXPECT_GT(queued, 1000u);
}

TEST_F(OutboxTest, WhatIsTooLargeIsSaidAtOnce) {
  const std::string data(log_.largest_event(), 'x');
  EXPECT_EQ(outbox_.publish({.channel = "a", .data = data}, now_).error(), PublishError::TooLarge);
  hold_log();
  static_cast<void>(outbox_.publish({.channel = "a", .data = "1"}, now_));
  EXPECT_EQ(outbox_.publish({.channel = "a", .data = data}, now_).error(), PublishError::TooLarge);
}

TEST_F(OutboxTest, ALoopsThreadPublishesThroughIt) {
  use_log(&log_);
  use_outbox(&outbox_);
  hold_log();
  EXPECT_EQ(publish({.channel = "a", .data = "1"}).error(), PublishError::Queued);
  use_outbox(nullptr);
  EXPECT_EQ(publish({.channel = "a", .data = "2"}, milliseconds(1)).error(), PublishError::Busy);
  use_log(nullptr);
}

}  // namespace
}  // namespace m0::pubsub::testing
