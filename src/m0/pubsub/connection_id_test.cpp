#include "m0/pubsub/connection_id.hpp"

#include <gtest/gtest.h>

namespace m0::pubsub {
namespace {

TEST(ConnectionIdTest, IsReadBackAsItWasWritten) {
  for (const ConnectionId id : {ConnectionId{0, 1}, ConnectionId{0xdeadbeef, 0x10}, ConnectionId{1, ~0ULL}}) {
    EXPECT_EQ(parse_connection_id(to_text(id)), id) << to_text(id);
  }
  EXPECT_EQ(to_text(ConnectionId{0xab, 0x1f}), "000000ab-1f");
}

TEST(ConnectionIdTest, WhatNobodyWroteIsNone) {
  for (const char* text :
       {"", "-", "000000ab", "000000ab-", "000000ab-0", "000000ab-01", "000000AB-1", "000000ab-1F", "00000ab-1",
        "000000ab-1 ", "000000ab-1g", "+00000ab-1", "000000ab--1", "000000ab-10000000000000000", "0000000ab-1"}) {
    EXPECT_FALSE(parse_connection_id(text)) << text;
  }
}

}  // namespace
}  // namespace m0::pubsub
