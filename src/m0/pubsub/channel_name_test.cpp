#include "m0/pubsub/channel_name.hpp"

#include <gtest/gtest.h>

#include <string>

namespace m0::pubsub {
namespace {

TEST(ChannelName, WhatItMayBe) {
  for (const std::string_view name :
       {"a", "room 1", "user:42/inbox", "\xc3\xbc", "\xf0\x9f\x98\x80", "a,b", "100%", "\xc2\xa0"}) {
    EXPECT_EQ(channel_problem(name), "") << name;
  }
  EXPECT_EQ(channel_problem(std::string(255, 'x')), "");
}

TEST(ChannelName, WhatItMayNotBe) {
  EXPECT_EQ(channel_problem(""), "is empty");
  EXPECT_EQ(channel_problem(std::string(256, 'x')), "is longer than 255 bytes");
  using namespace std::string_view_literals;
  for (const std::string_view name : {"a\nb"sv, "a\rb"sv, "a\0b"sv, "\x7f"sv, "\t"sv, "\xc2\x80"sv, "\xc2\x9f"sv}) {
    EXPECT_EQ(channel_problem(name), "has a control character");
  }
  for (const std::string_view name : {"\xff"sv, "\xc3"sv, "\xed\xa0\x80"sv, "\xc0\xaf"sv}) {
    EXPECT_EQ(channel_problem(name), "is not UTF-8");
  }
}

TEST(ChannelName, AnEventNeedsNoName) {
  EXPECT_EQ(event_name_problem(""), "");
  EXPECT_EQ(event_name_problem("a\nid: 5"), "has a control character");
}

}  // namespace
}  // namespace m0::pubsub
