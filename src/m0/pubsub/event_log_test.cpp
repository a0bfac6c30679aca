#include "m0/pubsub/event_log.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "m0/pubsub/event_log_test_support.hpp"

namespace m0::pubsub::testing {
namespace {

using Read = EventLog::Read;

bool rings(const EventLog& log, unsigned reader) {
  pollfd bell{log.bell_fd(reader), POLLIN, 0};
  return ::poll(&bell, 1, 0) == 1;
}

TEST(EventLog, IsEmptyAtFirst) {
  const EventLog log(small_log());
  Record record;
  EXPECT_EQ(log.read(0, record), Read::AtEnd);
  EXPECT_EQ(log.last_seq(), 0u);
  EXPECT_EQ(log.head(), 0u);
  EXPECT_NE(log.epoch(), 0u);
}

TEST(EventLog, EachHasAnEpochOfItsOwn) {
  const EventLog one(small_log());
  const EventLog other(small_log());
  EXPECT_NE(one.epoch(), other.epoch());
}

TEST(EventLog, GivesBackWhatWasAppended) {
  EventLog log(small_log());
  ASSERT_EQ(log.try_append({.channel = "news", .data = "hello", .name = "greeting"}), 1u);
  ASSERT_EQ(log.append({.channel = "chat", .data = std::string_view("\0\xff", 2), .binary = true}), 2u);
  ASSERT_EQ(log.append({.channel = "x", .data = "", .control = true}), 3u);
  Record record;
  ASSERT_EQ(log.read(0, record), Read::Ok);
  EXPECT_EQ(record.seq(), 1u);
  EXPECT_EQ(record.channel(), "news");
  EXPECT_EQ(record.name(), "greeting");
  EXPECT_EQ(record.data(), "hello");
  EXPECT_EQ(record.channel_hash(), hash_channel("news"));
  EXPECT_GT(record.time_ms(), 0);
  EXPECT_FALSE(record.binary());
  EXPECT_FALSE(record.control());
  ASSERT_EQ(log.read(record.next_position(), record), Read::Ok);
  EXPECT_EQ(record.data(), std::string_view("\0\xff", 2));
  EXPECT_TRUE(record.binary());
  ASSERT_EQ(log.read(record.next_position(), record), Read::Ok);
  EXPECT_TRUE(record.control());
  EXPECT_EQ(record.data(), "");
  EXPECT_EQ(record.next_position(), log.head());
  EXPECT_EQ(log.read(record.next_position(), record), Read::AtEnd);
  EXPECT_EQ(log.last_seq(), 3u);
}

TEST(EventLog, RefusesWhatItCannotName) {
  EventLog log(small_log());
  const std::string longest(kMaxName, 'c');
  const std::string longer(kMaxName + 1, 'c');
  EXPECT_TRUE(log.try_append({.channel = longest, .data = "", .name = longest}));
  for (const NewEvent& bad : {NewEvent{.channel = "", .data = ""}, NewEvent{.channel = longer, .data = ""},
                              NewEvent{.channel = "c", .data = "", .name = longer}}) {
    const auto said = log.try_append(bad);
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error(), AppendError::BadName);
  }
}

TEST(EventLog, AnEventIsAtMostASixteenthOfTheLog) {
  EventLog log(small_log());
  EXPECT_EQ(log.largest_event(), log.capacity() / 16);
  const std::string data(log.largest_event() - 1, 'd');
  EXPECT_TRUE(log.try_append({.channel = "c", .data = data}));
  const auto said = log.try_append({.channel = "cc", .data = data});
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error(), AppendError::TooLarge);
  EXPECT_EQ(log.last_seq(), 1u);
}

TEST(EventLog, AndAtMostWhatIsConfigured) {
  EventLog log({.size = 1 << 20, .max_event = 100});
  EXPECT_TRUE(log.try_append({.channel = "c", .data = std::string(99, 'd')}));
  EXPECT_FALSE(log.try_append({.channel = "c", .data = std::string(100, 'd')}));
}

TEST(EventLog, KeepsTheNewestAndMarksWhatItDrops) {
  EventLog log(small_log());
  ASSERT_TRUE(log.try_append({.channel = "early", .data = sealed(0, 50)}));
  EXPECT_EQ(log.dropped_mark(hash_channel("early")), 0u);
  fill(log);
  EXPECT_EQ(log.dropped_mark(hash_channel("early")), 1u);
  for (std::uint32_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE(log.try_append({.channel = "filler", .data = sealed(i, 8 + i % 300)}));
    ASSERT_LE(log.head() - log.tail(), log.capacity());
    const std::uint64_t oldest = everything(log).front().seq;
    ASSERT_EQ(log.dropped_mark(hash_channel("filler")), oldest == 2 ? 0 : oldest - 1);
  }
  expect_no_hole(log);
  // Nearly all of the ring is used: what the largest event needs is not kept free.
  EXPECT_GT(log.head() - log.tail(), log.capacity() * 9 / 10);
}

TEST(EventLog, ANewRecordThatDoesNotFitBeforeTheEndBeginsAtTheStart) {
  EventLog log(small_log());
  // Records of 2,048 bytes less one word: 32 of them leave 32 words, into which the next does not fit.
  const std::string data(2048 - 8 - RecordHeader::kWords * 8 - 1, 'd');
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(log.try_append({.channel = "c", .data = data}));
  ASSERT_EQ(log.head(), log.capacity() - 32 * 8);
  ASSERT_TRUE(log.try_append({.channel = "c", .data = data}));
  Record record;
  ASSERT_EQ(log.read(log.capacity() - 32 * 8, record), Read::Ok);
  EXPECT_EQ(record.position(), log.capacity()) << "behind a pad";
  EXPECT_EQ(record.data(), data);
  EXPECT_EQ(log.tail(), 2040u) << "the first one made room";
}

TEST(EventLog, WhatWasOverwrittenIsNotRead) {
  EventLog log(small_log());
  fill(log);
  Record record;
  EXPECT_EQ(log.read(0, record), Read::Overwritten);
  EXPECT_EQ(log.read(log.tail(), record), Read::Ok);
}

TEST(EventLog, ManyThreadsGetNumbersOfTheirOwnInOneOrder) {
  EventLog log(small_log());
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kEach = 2000;
  std::vector<std::vector<std::uint64_t>> numbers(kThreads);
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < kEach; ++i) {
        const auto seq =
            log.append({.channel = "c", .data = sealed(t << 16 | i, 8 + i % 500)}, std::chrono::minutes(1));
        numbers[t].push_back(seq.value_or(0));
      }
    });
  }
  // A reader that checks all it gets while it is being overtaken.
  std::uint64_t position = 0;
  std::uint64_t last = 0;
  Record record;
  while (last < kThreads * kEach) {
    switch (log.read(position, record)) {
      case Read::AtEnd: std::this_thread::yield(); break;
      case Read::Overwritten: position = log.tail(); break;
      case Read::Ok:
        ASSERT_GT(record.seq(), last);
        last = record.seq();
        ASSERT_TRUE(is_sealed(record.data()));
        position = record.next_position();
        break;
    }
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<bool> seen(kThreads * kEach + 1);
  for (const auto& of_one : numbers) {
    for (std::size_t i = 0; i < of_one.size(); ++i) {
      ASSERT_NE(of_one[i], 0u);
      ASSERT_FALSE(seen[of_one[i]]) << "a number was given twice";
      seen[of_one[i]] = true;
      if (i > 0) {
        ASSERT_GT(of_one[i], of_one[i - 1]);
      }
    }
  }
  expect_no_hole(log);
}

TEST(EventLog, RingsOnceThoseThatSleep) {
  EventLog log(small_log(2));
  ASSERT_TRUE(log.try_append({.channel = "c", .data = "1"}));
  EXPECT_FALSE(rings(log, 0) || rings(log, 1)) << "nobody sleeps";
  log.announce_sleep(1);
  ASSERT_TRUE(log.try_append({.channel = "c", .data = "2"}));
  EXPECT_FALSE(rings(log, 0));
  EXPECT_TRUE(rings(log, 1));
  log.drain_bell(1);
  ASSERT_TRUE(log.try_append({.channel = "c", .data = "3"}));
  EXPECT_FALSE(rings(log, 1)) << "one bell an announcement";
  log.announce_sleep(1);
  log.awake(1);
  ASSERT_TRUE(log.try_append({.channel = "c", .data = "4"}));
  EXPECT_FALSE(rings(log, 1)) << "it is awake again";
}

TEST(EventLogTest, WhatServersTellEachOtherIsNoEventThatAChannelLost) {
  EventLog log({.size = kMinLogSize});
  ASSERT_TRUE(log.try_append({.channel = "quiet", .data = "who", .control = true, .passing = true}));
  const auto order = log.try_append({.channel = "quiet", .data = "leave", .control = true});
  ASSERT_TRUE(order);
  const std::string data(1000, 'x');
  while (log.tail() == 0 || log.dropped_mark(hash_channel("other")) == 0) {
    ASSERT_TRUE(log.try_append({.channel = "other", .data = data}));
  }
  EXPECT_EQ(log.dropped_mark(hash_channel("quiet")), 0u);
  EXPECT_EQ(log.dropped_order(), *order) << "and not the question, which nobody waits for";
}

TEST(EventLogTest, WhatIsAnsweredHasARingOfItsOwn) {
  EventLog log({.size = kMinLogSize, .answers = kMinLogSize});
  const std::string data(1000, 'x');
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(log.answers().try_append({.channel = "q", .data = data, .control = true}));
  EXPECT_EQ(log.last_seq(), 0u);
  EXPECT_GT(log.answers().tail(), 0u);
}

}  // namespace
}  // namespace m0::pubsub::testing
