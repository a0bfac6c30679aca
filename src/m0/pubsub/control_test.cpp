#include "m0/pubsub/control.hpp"

#include <gtest/gtest.h>

#include "m0/pubsub/event_log.hpp"

namespace m0::pubsub {
namespace {

TEST(ControlTest, AFarewellIsReadBackAsItWasWritten) {
  for (const Farewell& farewell : {Farewell{}, Farewell{true, 0, ""}, Farewell{false, 4001, "two words "}}) {
    const std::string data = to_data(farewell);
    EXPECT_EQ(read_farewell(data), farewell) << data;
  }
}

TEST(ControlTest, WhatIsNoFarewell) {
  for (const char* data : {"", "x", "1000", "1000 1", "1000 2 x", "1000 1x", "-1 0 x", "70000 0 x"}) {
    EXPECT_FALSE(read_farewell(data)) << data;
  }
}

TEST(ControlTest, AnEventThatIsCalledLikeAVerbIsNone) {
  EventLog log({.size = kMinLogSize});
  ASSERT_TRUE(log.try_append({.channel = "a", .data = "b", .name = "send"}));
  Record record;
  ASSERT_EQ(log.read(0, record), EventLog::Read::Ok);
  EXPECT_FALSE(verb_of(record));
  for (const Verb verb :
       {Verb::Send, Verb::CloseConnection, Verb::CloseChannel, Verb::AskPresence, Verb::TellPresence}) {
    const std::uint64_t at = log.head();
    ASSERT_TRUE(log.try_append(control_event(verb, "a", "data")));
    ASSERT_EQ(log.read(at, record), EventLog::Read::Ok);
    EXPECT_EQ(verb_of(record), verb);
  }
}

}  // namespace
}  // namespace m0::pubsub
