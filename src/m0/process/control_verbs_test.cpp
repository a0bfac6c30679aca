#include "m0/process/control_verbs.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace m0::process {
namespace {

using pubsub::EventLog;

/// Another process that was stopped inside an append, and so holds the log.
class Holder {
 public:
  explicit Holder(EventLog& log) : pid_(::fork()) {
    if (pid_ == 0) {
      EventLog::set_step_hook([](pubsub::AppendStep at) {
        if (at == pubsub::AppendStep::Locked) ::raise(SIGSTOP);
      });
      static_cast<void>(log.append({.channel = "holder"}));
      ::_exit(0);
    }
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  ~Holder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 private:
  pid_t pid_;
};

class ControlVerbsTest : public ::testing::Test {
 protected:
  ControlTask begin(ControlFields request) { return begin_request(control_verbs(), {log_}, std::move(request)); }
  EventLog log_{{.size = pubsub::kMinLogSize}};
};

TEST_F(ControlVerbsTest, APublishWaitsForTheLogWithoutHoldingAnybodyUp) {
  auto task = begin({"publish", "a", "x", "", "text"});
  {
    const Holder holder(log_);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(task(false));
  }
  const auto said = task(false);
  ASSERT_TRUE(said && said->ok);
  EXPECT_EQ(said->fields, ControlFields{pubsub::to_text({log_.epoch(), 1})});
}

TEST_F(ControlVerbsTest, APublishWhoseTimeIsOverIsAnError) {
  const Holder holder(log_);
  auto task = begin({"publish", "a", "x", "", "text"});
  EXPECT_FALSE(task(false));
  const auto said = task(true);
  ASSERT_TRUE(said);
  EXPECT_FALSE(said->ok);
  EXPECT_THAT(said->fields.at(0), ::testing::HasSubstr("held by another process"));
}

TEST_F(ControlVerbsTest, WhatCanNeverBeIsSaidAtOnce) {
  const Holder holder(log_);
  for (const ControlFields& request :
       {ControlFields{"publish", "a\nb", "x", "", "text"}, ControlFields{"publish", "a", "x", "", "text", "more"},
        ControlFields{"publish", "a", std::string(log_.largest_event(), 'x'), "", "text"}, ControlFields{""}}) {
    const auto said = begin(request)(false);
    ASSERT_TRUE(said);
    EXPECT_FALSE(said->ok);
    EXPECT_EQ(said->fields.size(), 1u);
  }
}

}  // namespace
}  // namespace m0::process
