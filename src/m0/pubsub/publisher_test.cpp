#include "m0/pubsub/publisher.hpp"

#include <gtest/gtest.h>

namespace m0::pubsub {
namespace {

class PublisherTest : public ::testing::Test {
 protected:
  PublisherTest() { use_log(&log_); }
  ~PublisherTest() override { use_log(nullptr); }
  EventLog log_{{.size = kMinLogSize}};
};

TEST_F(PublisherTest, GivesTheIdOfTheEvent) {
  EXPECT_EQ(publish({.channel = "news", .data = "a"}), (EventId{log_.epoch(), 1}));
  EXPECT_EQ(publish({.channel = "news", .data = "b"}), (EventId{log_.epoch(), 2}));
}

TEST_F(PublisherTest, WithoutAServerNothingIsPublished) {
  use_log(nullptr);
  const auto said = publish({.channel = "news", .data = "a"});
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error(), PublishError::NoServer);
}

TEST_F(PublisherTest, ALineBreakCannotForgeAnything) {
  for (const NewEvent& bad :
       {NewEvent{.channel = "a\nb", .data = ""}, NewEvent{.channel = "a", .data = "", .name = "x\ndata: forged"},
        NewEvent{.channel = "", .data = ""}, NewEvent{.channel = "\xff", .data = ""}}) {
    const auto said = publish(bad);
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error(), PublishError::BadName);
  }
  EXPECT_EQ(log_.last_seq(), 0u);
}

TEST_F(PublisherTest, WhatIsTooLargeIsRefused) {
  const auto said = publish({.channel = "a", .data = std::string(log_.largest_event(), 'x')});
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error(), PublishError::TooLarge);
}

}  // namespace
}  // namespace m0::pubsub
