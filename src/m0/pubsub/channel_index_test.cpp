#include "m0/pubsub/channel_index.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace m0::pubsub {
namespace {

/// An index and the log that it follows: records of 16 bytes, one behind the other.
class ChannelIndexTest : public ::testing::Test {
 protected:
  ChannelId channel(std::string_view name) { return index_.intern(name, 0, 0); }
  void append(std::string_view name) {
    ++seq_;
    index_.append(channel(name), seq_, seq_ * 16);
  }
  void drop_up_to(std::uint64_t seq) { index_.drop_before((seq + 1) * 16); }

  ChannelIndex index_;
  std::uint64_t seq_ = 0;
};

TEST_F(ChannelIndexTest, KnowsNothingAtFirst) {
  const ChannelId news = channel("news");
  EXPECT_EQ(index_.first(news), 0u);
  EXPECT_EQ(index_.last(news), 0u);
  EXPECT_EQ(index_.after(news, 0, 0), 0u);
  EXPECT_TRUE(index_.empty());
}

TEST_F(ChannelIndexTest, LinksTheRecordsOfEachChannel) {
  for (const char* const name : {"a", "b", "a", "b", "b", "a"}) append(name);
  EXPECT_EQ(index_.first(channel("a")), 1u);
  EXPECT_EQ(index_.last(channel("a")), 6u);
  EXPECT_EQ(index_.next(1), 3u);
  EXPECT_EQ(index_.next(3), 6u);
  EXPECT_EQ(index_.next(6), 0u);
  EXPECT_EQ(index_.previous(6), 3u);
  EXPECT_EQ(index_.previous(1), 0u);
  EXPECT_EQ(index_.next(4), 5u);
  EXPECT_EQ(index_.position(4), 64u);
}

TEST_F(ChannelIndexTest, FindsWhatFollowsWithAndWithoutAHint) {
  for (const char* const name : {"a", "b", "a", "b", "b", "a"}) append(name);
  const ChannelId a = channel("a");
  const std::uint64_t expected[] = {1, 3, 3, 6, 6, 6, 0, 0};
  for (std::uint64_t seq = 0; seq < 8; ++seq) {
    EXPECT_EQ(index_.after(a, seq, 0), expected[seq]) << seq;
    for (std::uint64_t hint = 0; hint <= seq; ++hint) EXPECT_EQ(index_.after(a, seq, hint), expected[seq]) << hint;
  }
}

TEST_F(ChannelIndexTest, DropsWhatLeavesTheLog) {
  for (const char* const name : {"a", "b", "a", "b", "b", "a"}) append(name);
  index_.keep(channel("a"));
  drop_up_to(3);
  EXPECT_EQ(index_.oldest(), 4u);
  EXPECT_EQ(index_.dropped(channel("a")), 3u);
  EXPECT_EQ(index_.dropped(channel("b")), 2u);
  EXPECT_EQ(index_.first(channel("a")), 6u);
  EXPECT_EQ(index_.previous(6), 0u);
  EXPECT_EQ(index_.next(3), 0u);
  EXPECT_EQ(index_.after(channel("a"), 0, 1), 6u) << "a hint that is no longer there";
  EXPECT_EQ(index_.position(4), 64u);
  drop_up_to(6);
  EXPECT_TRUE(index_.empty());
  EXPECT_EQ(index_.last(channel("a")), 0u);
  EXPECT_EQ(index_.dropped(channel("a")), 6u);
}

TEST_F(ChannelIndexTest, AChannelGoesWithItsLastRecordUnlessItIsKept) {
  append("a");
  append("b");
  index_.keep(channel("b"));
  EXPECT_EQ(index_.channels(), 2u);
  drop_up_to(2);
  EXPECT_EQ(index_.channels(), 1u);
  EXPECT_EQ(index_.name(channel("b")), "b");
  index_.release(channel("b"));
  EXPECT_EQ(index_.channels(), 0u);
  append("c");  // its place is used again
  EXPECT_EQ(index_.first(channel("c")), 3u);
  EXPECT_EQ(index_.dropped(channel("c")), 0u);
}

TEST_F(ChannelIndexTest, AReleasedChannelWithRecordsLives) {
  append("a");
  index_.keep(channel("a"));
  index_.release(channel("a"));
  EXPECT_EQ(index_.channels(), 1u);
  EXPECT_EQ(index_.last(channel("a")), 1u);
}

TEST_F(ChannelIndexTest, NumbersThatAreNobodysAreCounted) {
  append("a");
  ++seq_;
  index_.append_unindexed(seq_, seq_ * 16);
  append("a");
  EXPECT_EQ(index_.next(1), 3u);
  drop_up_to(2);
  EXPECT_EQ(index_.first(channel("a")), 3u);
  EXPECT_EQ(index_.dropped(channel("a")), 1u);
}

TEST_F(ChannelIndexTest, AnOvertakenReaderForgetsAllAndAsksWhatWasLost) {
  append("a");
  append("b");
  index_.keep(channel("a"));
  index_.forget_all([](std::uint64_t) { return std::uint64_t{90}; });
  EXPECT_TRUE(index_.empty());
  EXPECT_EQ(index_.channels(), 1u);
  EXPECT_EQ(index_.dropped(channel("a")), 90u);
  seq_ = 100;
  append("a");
  EXPECT_EQ(index_.first(channel("a")), 101u);
  EXPECT_EQ(index_.position(101), 1616u);
}

TEST_F(ChannelIndexTest, WhereTheLastFewBegin) {
  for (const char* const name : {"a", "b", "a", "b", "b", "a"}) append(name);
  const ChannelId a = channel("a");
  EXPECT_EQ(index_.before_last(a, 0), 6u);
  EXPECT_EQ(index_.before_last(a, 1), 5u);
  EXPECT_EQ(index_.before_last(a, 2), 2u);
  EXPECT_EQ(index_.before_last(a, 3), 0u);
  EXPECT_EQ(index_.before_last(a, 100), 0u);
  EXPECT_EQ(index_.before_last(channel("none"), 5), 0u);
}

TEST_F(ChannelIndexTest, PlacesAreRightBeyondFourBillionWords) {
  std::uint64_t position = (std::uint64_t{1} << 35) - 64;
  for (std::uint64_t seq = 1; seq <= 16; ++seq, position += 16) index_.append(channel("a"), seq, position);
  EXPECT_EQ(index_.position(1), (std::uint64_t{1} << 35) - 64);
  EXPECT_EQ(index_.position(16), (std::uint64_t{1} << 35) - 64 + 15 * 16);
  index_.drop_before((std::uint64_t{1} << 35) + 32);
  EXPECT_EQ(index_.oldest(), 7u);
  EXPECT_EQ(index_.position(7), (std::uint64_t{1} << 35) + 32);
}

TEST_F(ChannelIndexTest, AgreesWithAPlainList) {
  std::mt19937 random(7);
  std::map<std::string, std::vector<std::uint64_t>> model;
  std::uint64_t dropped = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::string name = std::to_string(random() % 5);
    if (random() % 3 != 0 || dropped == seq_) {
      append(name);
      model[name].push_back(seq_);
    } else {
      dropped += 1 + random() % (seq_ - dropped);
      drop_up_to(dropped);
      for (auto& [_, seqs] : model) std::erase_if(seqs, [&](std::uint64_t seq) { return seq <= dropped; });
    }
    const std::vector<std::uint64_t>& left = model[name];
    const std::uint64_t from = dropped + random() % (seq_ - dropped + 1);
    const auto expected = std::ranges::upper_bound(left, from);
    const std::uint64_t hint = random() % (from + 1);
    const ChannelId id = channel(name);
    index_.keep(id);
    ASSERT_EQ(index_.after(id, from, hint), expected == left.end() ? 0 : *expected);
    index_.release(id);
  }
}

}  // namespace
}  // namespace m0::pubsub
