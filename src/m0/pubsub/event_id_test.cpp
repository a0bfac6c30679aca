#include "m0/pubsub/event_id.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace m0::pubsub {
namespace {

TEST(EventId, IsWrittenAndRead) {
  const EventId id{0xabc123, 42};
  EXPECT_EQ(to_text(id), "000000abc123-42");
  const auto parsed = parse_id(to_text(id));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->id, id);
  EXPECT_FALSE(parsed->end);
}

TEST(EventId, TheEndsOfItsRange) {
  for (const EventId id : {EventId{0, 0}, EventId{0xffffffffffff, std::numeric_limits<std::uint64_t>::max()}}) {
    const auto parsed = parse_id(to_text(id));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->id, id);
  }
}

TEST(EventId, TheEndOfAStreamIsReadToo) {
  std::string text;
  append_end_id(text, {1, 7});
  EXPECT_EQ(text, "000000000001-7-end");
  const auto parsed = parse_id(text);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->end);
  EXPECT_EQ(parsed->id, (EventId{1, 7}));
}

TEST(EventId, WhatItNeverWroteIsNothing) {
  for (const std::string_view text : {"",
                                      "-",
                                      "7",
                                      "000000000001",
                                      "000000000001-",
                                      "000000000001--1",
                                      "00000000001-7",
                                      "0000000000001-7",
                                      "00000000000g-7",
                                      "00000000000A-7",
                                      "000000000001-07",
                                      "000000000001-+7",
                                      "000000000001- 7",
                                      "000000000001-7 ",
                                      "000000000001-18446744073709551616",
                                      "000000000001-7-",
                                      "000000000001-7-en",
                                      "000000000001-7-end-end",
                                      "-end",
                                      "000000000001-end",
                                      "000000000001-0x7",
                                      " 000000000001-7",
                                      "00000000000\xff-7"}) {
    EXPECT_FALSE(parse_id(text)) << text;
  }
}

}  // namespace
}  // namespace m0::pubsub
