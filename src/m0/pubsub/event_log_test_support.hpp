#pragma once
// What the tests of the log share: events whose content shows whether it is whole, and everything a log holds.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "m0/pubsub/event_log.hpp"

namespace m0::pubsub::testing {

/// The smallest log there is: about 1,500 events of 10 bytes.
inline LogConfig small_log(unsigned bells = 1) { return {.size = kMinLogSize, .max_event = 1 << 20, .bells = bells}; }

/// Of any length from 8 on; the rest follows from its first eight digits.
inline std::string sealed(std::uint32_t number, std::size_t length) {
  std::string text = fmt::format("{:08x}", number);
  for (std::size_t i = 8; i < length; ++i) text += static_cast<char>('a' + (number * 31 + i * 7) % 26);
  return text;
}
inline bool is_sealed(std::string_view text) {
  if (text.size() < 8) return false;
  const auto number = static_cast<std::uint32_t>(std::stoul(std::string(text.substr(0, 8)), nullptr, 16));
  return text == sealed(number, text.size());
}

struct Held {
  std::uint64_t seq;
  std::string channel, name, data;
};

/// What the log holds, oldest first.
inline std::vector<Held> everything(const EventLog& log) {
  std::vector<Held> all;
  Record record;
  std::uint64_t position = log.tail();
  while (log.read(position, record) == EventLog::Read::Ok) {
    all.push_back(
        {record.seq(), std::string(record.channel()), std::string(record.name()), std::string(record.data())});
    position = record.next_position();
  }
  return all;
}

/// Every number once, in order, and every text whole. `uncounted`: a writer may be stopped between the event and its
/// count.
inline void expect_no_hole(const EventLog& log, bool uncounted = false) {
  const std::vector<Held> all = everything(log);
  ASSERT_FALSE(all.empty());
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].seq, all.front().seq + i);
    ASSERT_TRUE(is_sealed(all[i].data)) << "torn: " << all[i].data;
  }
  EXPECT_GE(all.back().seq, log.last_seq());
  EXPECT_LE(all.back().seq, log.last_seq() + (uncounted ? 1 : 0));
}

inline void fill(EventLog& log) {
  for (std::uint32_t i = 0; log.tail() == 0; ++i) {
    ASSERT_TRUE(log.try_append({.channel = "filler", .data = sealed(i, 100)}));
  }
}

}  // namespace m0::pubsub::testing
