#include "m0/pubsub/presence.hpp"

#include <gtest/gtest.h>

#include "m0/pubsub/control.hpp"

namespace m0::pubsub {
namespace {

class PresenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    log_.begin_reading(0);
    log_.begin_reading(2);
  }
  /// What reader `reader` answers to the newest question.
  void answer(unsigned reader, std::uint64_t count, const std::vector<Presence::Connection>& connections = {}) {
    Record record;
    std::optional<PresenceQuestion> question;
    std::string id;
    for (std::uint64_t at = log_.tail(); log_.read(at, record) == EventLog::Read::Ok; at = record.next_position()) {
      if (verb_of(record) == Verb::AskPresence) {
        question = read_question(record);
        EXPECT_EQ(record.channel(), "room");
        id = question->id;
      }
    }
    ASSERT_TRUE(question);
    EXPECT_EQ(question->limit, 2u);
    PresenceAnswer made(log_, reader, 1000);
    for (const auto& connection : connections) made.add(connection.id, connection.metadata);
    const std::string data = made.data(count);
    ASSERT_TRUE(log_.try_append(control_event(Verb::TellPresence, id, data)));
  }

  EventLog log_{{.size = kMinLogSize, .bells = 4}};
  PresenceQuery query_{log_, "room", 2};
};

TEST_F(PresenceTest, AllThatReadHaveToAnswer) {
  EXPECT_EQ(query_.advance(), false);
  answer(0, 1, {{"a-1", "M0-Meta-User: x\r\n"}});
  EXPECT_EQ(query_.advance(), false);
  answer(2, 5, {{"b-1", ""}, {"b-2", ""}});
  EXPECT_EQ(query_.advance(), true);
  const Presence presence = query_.take();
  EXPECT_EQ(presence.count, 6u);
  EXPECT_EQ(presence.connections, (std::vector<Presence::Connection>{{"a-1", "M0-Meta-User: x\r\n"}, {"b-1", ""}}));
  EXPECT_TRUE(presence.complete);
}

TEST_F(PresenceTest, WhoHasGoneIsNotWaitedFor) {
  EXPECT_EQ(query_.advance(), false);
  answer(0, 1);
  log_.end_reading(2);
  EXPECT_EQ(query_.advance(), true);
  EXPECT_EQ(query_.take().count, 1u);
}

TEST_F(PresenceTest, NorWhoWasReplaced) {
  EXPECT_EQ(query_.advance(), false);
  answer(0, 1);
  log_.begin_reading(2);  // its predecessor was killed, which nobody has seen
  EXPECT_EQ(query_.advance(), true);
  EXPECT_TRUE(query_.take().complete);
}

TEST_F(PresenceTest, NorWhoHasBegunMeanwhile) {
  EXPECT_EQ(query_.advance(), false);
  log_.begin_reading(1);
  answer(0, 1);
  answer(2, 1);
  EXPECT_EQ(query_.advance(), true);
}

TEST_F(PresenceTest, WhatIsMissingIsSaid) {
  EXPECT_EQ(query_.advance(), false);
  answer(0, 3);
  const Presence presence = query_.take();
  EXPECT_EQ(presence.count, 3u);
  EXPECT_FALSE(presence.complete);
}

TEST_F(PresenceTest, AnswersToOthersAreNotItsOwn) {
  EXPECT_EQ(query_.advance(), false);
  PresenceQuery other(log_, "room", 2);
  EXPECT_EQ(other.advance(), false);
  answer(0, 7);
  answer(2, 7);
  EXPECT_EQ(query_.advance(), false);
  EXPECT_EQ(other.advance(), true);
}

TEST_F(PresenceTest, AMalformedAnswerIsNoneAndALongOneIsCut) {
  EXPECT_EQ(query_.advance(), false);
  PresenceAnswer made(log_, 0, 20);
  made.add("a-1", "");
  made.add("a-2", std::string(50, 'x'));
  EXPECT_EQ(made.data(2), "0 1 2 3 0 a-1");
}

TEST(ReaderTest, ALifeIsBegunAndEndedOnce) {
  EventLog log({.size = kMinLogSize});
  EXPECT_FALSE(EventLog::reads(log.life(0)));
  log.end_reading(0);
  EXPECT_EQ(log.life(0), 0u);
  log.begin_reading(0);
  const std::uint32_t first = log.life(0);
  EXPECT_TRUE(EventLog::reads(first));
  log.begin_reading(0);
  EXPECT_TRUE(EventLog::reads(log.life(0)));
  EXPECT_NE(log.life(0), first);
  log.end_reading(0);
  log.end_reading(0);
  EXPECT_FALSE(EventLog::reads(log.life(0)));
}

}  // namespace
}  // namespace m0::pubsub
