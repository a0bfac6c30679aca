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

class AppendSteps : public ::testing::TestWithParam<AppendStepName> {};

TEST_P(AppendSteps, AWriterKilledThereLeavesAWholeLog) {
  const AppendStep step = GetParam().step;
  EventLog log(small_log());
  fill(log);  // so that records are evicted
  const std::uint64_t before = log.last_seq();
  const pid_t child = writer(log, {.channel = "killed", .data = sealed(77, 700)}, step, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "no append came to this step";

  const std::uint64_t expected = before + (exists_after(step) ? 2 : 1);
  ASSERT_EQ(log.try_append({.channel = "next", .data = sealed(78, 700)}), expected);
  EXPECT_EQ(log.repairs(), holds_the_lock(step) ? 1u : 0u);
  expect_no_hole(log);
  const std::vector<Held> all = everything(log);
  EXPECT_EQ(all.back().channel, "next");
  EXPECT_EQ(all[all.size() - 2].channel, exists_after(step) ? "killed" : "filler");
  // What is no longer there was marked before it went.
  EXPECT_GE(log.dropped_mark(hash_channel("filler")), all.front().seq - 1);
  for (std::uint32_t i = 0; i < 2000; ++i) ASSERT_TRUE(log.try_append({.channel = "c", .data = sealed(i, 90)}));
  expect_no_hole(log);
}

TEST_P(AppendSteps, AWriterStoppedThereStopsNoReaderAndNoLoop) {
  const AppendStep step = GetParam().step;
  EventLog log(small_log());
  fill(log);
  const pid_t child = writer(log, {.channel = "stopped", .data = sealed(77, 700)}, step, SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));

  expect_no_hole(log, true);
  const auto tried = log.try_append({.channel = "loop", .data = sealed(1, 20)});
  const auto waited = log.append({.channel = "view", .data = sealed(2, 20)}, milliseconds(20));
  if (holds_the_lock(step)) {
    ASSERT_FALSE(tried || waited);
    EXPECT_EQ(tried.error(), AppendError::Busy);
    EXPECT_EQ(waited.error(), AppendError::Busy);
  } else {
    EXPECT_TRUE(tried && waited);
  }
  end(child);
  EXPECT_TRUE(log.try_append({.channel = "afterwards", .data = sealed(3, 20)}));
  expect_no_hole(log);
}

TEST_P(AppendSteps, AWriterThatGoesOnLaterIsNotHarmedByThoseWhoWaited) {
  const AppendStep step = GetParam().step;
  EventLog log(small_log());
  fill(log);
  const pid_t child = writer(log, {.channel = "stopped", .data = sealed(77, 700)}, step, SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  static_cast<void>(log.append({.channel = "view", .data = sealed(2, 20)}, milliseconds(5)));
  const std::uint64_t before = log.last_seq();
  ::kill(child, SIGCONT);
  if (step == AppendStep::Evicted || step == AppendStep::Marked) {  // once a record that goes: it may stop again
    while (::waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status)) ::kill(child, SIGCONT);
  } else {
    ASSERT_EQ(::waitpid(child, &status, 0), child);
  }
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(log.last_seq(), before + (step < AppendStep::Counted ? 1 : 0));
  EXPECT_EQ(log.repairs(), 0u);
  expect_no_hole(log);
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
