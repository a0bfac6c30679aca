// Writers that are killed or stopped inside an append. Each step of the writer has its case: the steps come from the
// writer's own table.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "m0/pubsub/event_log.hpp"
#include "m0/pubsub/event_log_test_support.hpp"

namespace m0::pubsub::testing {
namespace {

using std::chrono::milliseconds;

// In the child: what happens where.
AppendStep g_step{};
int g_signal = SIGKILL;

/// A process that appends `event` and gets `signal` after `step`. It never returns from it.
pid_t writer(EventLog& log, const NewEvent& event, AppendStep step, int signal) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  g_step = step;
  g_signal = signal;
  EventLog::set_step_hook([](AppendStep at) {
    if (at == g_step) ::kill(::getpid(), g_signal);
  });
  static_cast<void>(log.append(event));
  ::_exit(0);
}

void end(pid_t child) {
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

bool exists_after(AppendStep step) { return step >= AppendStep::Headed; }
bool holds_the_lock(AppendStep step) { return step != AppendStep::Unlocked; }

class AppendSteps : public ::testing::TestWithParam<AppendStepName> {
 protected:
  /// A writer that stands still after the step of this case, in a log that is full.
  void stop_a_writer() {
    fill(log_);
    child_ = writer(log_, {.channel = "stopped", .data = sealed(77, 700)}, GetParam().step, SIGSTOP);
    int status = 0;
    ASSERT_EQ(::waitpid(child_, &status, WUNTRACED), child_);
    ASSERT_TRUE(WIFSTOPPED(status));
  }

  EventLog log_{small_log()};
  pid_t child_ = 0;
};

TEST_P(AppendSteps, AWriterKilledThereLeavesAWholeLog) {
  const AppendStep step = GetParam().step;
  fill(log_);  // so that records are evicted
  const std::uint64_t before = log_.last_seq();
  const pid_t child = writer(log_, {.channel = "killed", .data = sealed(77, 700)}, step, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "no append came to this step";

  const std::uint64_t expected = before + (exists_after(step) ? 2 : 1);
  ASSERT_EQ(log_.try_append({.channel = "next", .data = sealed(78, 700)}), expected);
  EXPECT_EQ(log_.repairs(), holds_the_lock(step) ? 1u : 0u);
  expect_no_hole(log_);
  const std::vector<Held> all = everything(log_);
  EXPECT_EQ(all.back().channel, "next");
  EXPECT_EQ(all[all.size() - 2].channel, exists_after(step) ? "killed" : "filler");
  // What is no longer there was marked before it went.
  EXPECT_GE(log_.dropped_mark(hash_channel("filler")), all.front().seq - 1);
  for (std::uint32_t i = 0; i < 2000; ++i) ASSERT_TRUE(log_.try_append({.channel = "c", .data = sealed(i, 90)}));
  expect_no_hole(log_);
}

TEST_P(AppendSteps, AWriterStoppedThereStopsNoReaderAndNoLoop) {
  const AppendStep step = GetParam().step;
  ASSERT_NO_FATAL_FAILURE(stop_a_writer());
  expect_no_hole(log_, true);
  const auto tried = log_.try_append({.channel = "loop", .data = sealed(1, 20)});
  const auto waited = log_.append({.channel = "view", .data = sealed(2, 20)}, milliseconds(20));
  if (holds_the_lock(step)) {
    ASSERT_FALSE(tried || waited);
    EXPECT_EQ(tried.error(), AppendError::Busy);
    EXPECT_EQ(waited.error(), AppendError::Busy);
  } else {
    EXPECT_TRUE(tried && waited);
  }
  end(child_);
  EXPECT_TRUE(log_.try_append({.channel = "afterwards", .data = sealed(3, 20)}));
  expect_no_hole(log_);
}

TEST_P(AppendSteps, AWriterThatGoesOnLaterIsNotHarmedByThoseWhoWaited) {
  const AppendStep step = GetParam().step;
  ASSERT_NO_FATAL_FAILURE(stop_a_writer());
  int status = 0;
  static_cast<void>(log_.append({.channel = "view", .data = sealed(2, 20)}, milliseconds(5)));
  const std::uint64_t before = log_.last_seq();
  ::kill(child_, SIGCONT);
  if (step == AppendStep::Evicted || step == AppendStep::Marked) {  // once a record that goes: it may stop again
    while (::waitpid(child_, &status, WUNTRACED) == child_ && WIFSTOPPED(status)) ::kill(child_, SIGCONT);
  } else {
    ASSERT_EQ(::waitpid(child_, &status, 0), child_);
  }
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(log_.last_seq(), before + (step < AppendStep::Counted ? 1 : 0));
  EXPECT_EQ(log_.repairs(), 0u);
  expect_no_hole(log_);
}

INSTANTIATE_TEST_SUITE_P(Every, AppendSteps, ::testing::ValuesIn(append_steps().begin(), append_steps().end()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(EventLogDeath, WhatWasMarkedForOneThatNeverCameIsStillThere) {
  EventLog log(small_log());
  fill(log);
  const std::uint64_t oldest = everything(log).front().seq;
  const pid_t child = writer(log, {.channel = "k", .data = sealed(77, 700)}, AppendStep::Marked, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(everything(log).front().seq, oldest);
}

TEST(EventLogDeath, RandomKillsTearNothing) {
  EventLog log(small_log());
  ASSERT_TRUE(log.try_append({.channel = "c", .data = sealed(0, 20)}));
  std::mt19937 random(20261130);
  constexpr int kKills = 150;
  for (int round = 0; round < kKills; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 2; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        for (std::uint32_t n = 0;; ++n) {
          static_cast<void>(log.append({.channel = "c", .data = sealed(n, 8 + n % 900)}));
        }
      }
      children.push_back(child);
    }
    const std::uint64_t from = log.last_seq();
    const std::uint64_t until = from + 1 + random() % 300;
    while (log.last_seq() < until) ::sched_yield();
    for (const pid_t child : children) end(child);
    ASSERT_TRUE(log.append({.channel = "c", .data = sealed(1, 20)}));
    expect_no_hole(log);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace m0::pubsub::testing
