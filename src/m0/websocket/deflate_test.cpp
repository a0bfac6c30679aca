#include "m0/websocket/deflate.hpp"

#include <random>

namespace m0::websocket {
namespace {

using namespace std::string_literals;

std::string compressed(std::string_view message, int window_bits = 15, int level = 6) {
  Deflater deflater(window_bits, level);
  std::string out;
  deflater.compress(message, out);
  return out;
}

constexpr std::size_t kNoLimit = 1U << 30U;

/// The message, or "too big" or "corrupt", given in pieces of `step` bytes.
std::string inflated(Inflater& inflater, std::string_view payload, std::size_t limit = kNoLimit,
                     std::size_t step = kNoLimit) {
  std::string out;
  const auto outcome = [&](std::expected<void, InflateError> done) {
    return done ? out : done.error() == InflateError::TooBig ? "too big" : "corrupt";
  };
  inflater.start(limit);
  for (; !payload.empty(); payload.remove_prefix(std::min(step, payload.size()))) {
    if (const auto done = inflater.feed(payload.substr(0, step), out); !done) return outcome(done);
  }
  return outcome(inflater.finish(out));
}

std::string inflated(std::string_view payload, std::size_t limit = kNoLimit) {
  Inflater inflater;
  const std::string whole = inflated(inflater, payload, limit);
  EXPECT_EQ(inflated(inflater, payload, limit, 1), whole) << "byte by byte";
  EXPECT_EQ(inflated(inflater, payload, limit, 7), whole) << "seven at a time";
  return whole;
}

std::string noise(std::size_t size) {
  std::mt19937 random(7);  // NOLINT: the same bytes each time
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

std::string prose(std::size_t size) {
  std::string out;
  for (int i = 0; out.size() < size; ++i) out += "item " + std::to_string(i * 7919 % 1000) + ", ";
  out.resize(size);
  return out;
}

// -- what RFC 7692 7.2.3 shows

TEST(Inflater, OneBlock) { EXPECT_EQ(inflated("\xf2\x48\xcd\xc9\xc9\x07\x00"s), "Hello"); }
TEST(Inflater, ABlockWithoutCompression) {
  EXPECT_EQ(inflated("\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"s), "Hello");
}
TEST(Inflater, AFinalBlock) { EXPECT_EQ(inflated("\xf3\x48\xcd\xc9\xc9\x07\x00\x00"s), "Hello"); }
TEST(Inflater, TwoBlocks) { EXPECT_EQ(inflated("\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"s), "Hello"); }
TEST(Inflater, AnEmptyMessage) { EXPECT_EQ(inflated("\x00"s), ""); }

TEST(Deflater, WhatTheSpecificationShows) {
  EXPECT_EQ(compressed("Hello"), "\xf2\x48\xcd\xc9\xc9\x07\x00"s);
  EXPECT_EQ(compressed(""), "\x00"s);
}

// 7.2.3.2: the second "Hello" with context takeover refers to the first. Nobody agreed to that here.
TEST(Inflater, NothingIsLeftFromTheMessageBefore) {
  Inflater inflater;
  EXPECT_EQ(inflated(inflater, "\xf2\x48\xcd\xc9\xc9\x07\x00"s), "Hello");
  EXPECT_EQ(inflated(inflater, "\xf2\x00\x11\x00\x00"s), "corrupt");
  EXPECT_EQ(inflated(inflater, "\xf2\x48\xcd\xc9\xc9\x07\x00"s), "Hello");
}

// -- final blocks (7.2.1)

TEST(Inflater, SeveralFinalBlocks) {
  std::string payload;
  for (int i = 0; i < 3; ++i) payload += "\xf3\x48\xcd\xc9\xc9\x07\x00"s;
  payload += "\xf2\x48\xcd\xc9\xc9\x07\x00"s;
  EXPECT_EQ(inflated(payload), "HelloHelloHelloHello");
}

// The block behind a final one is the second "Hello" of 7.2.3.2, which refers to the first: inside one message the
// window goes on.
TEST(Inflater, ABlockMayReferToWhatWasBeforeAFinalOne) {
  EXPECT_EQ(inflated("\xf3\x48\xcd\xc9\xc9\x07\x00\xf2\x00\x11\x00\x00"s), "HelloHello");
}

TEST(Inflater, ManyFinalBlocksCostNoMoreThanTheirBytes) {
  std::string payload;
  for (int i = 0; i < 100000; ++i) payload += "\x03\x00"s;  // final, empty
  Inflater inflater;
  EXPECT_EQ(inflated(inflater, payload + '\0'), "");
}

TEST(Inflater, WithoutTheEndBehindAFinalBlock) { EXPECT_EQ(inflated("\xf3\x48\xcd\xc9\xc9\x07\x00"s), "corrupt"); }

// -- what is no message

TEST(Inflater, Corrupt) {
  EXPECT_EQ(inflated(""), "corrupt");                                               // an empty message is a zero byte
  EXPECT_EQ(inflated("\xff\xff\xff"), "corrupt");                                   // reserved type of block
  EXPECT_EQ(inflated("\x00\x05\x00\xfa\xfe\x48\x65\x6c\x6c\x6f\x00"s), "corrupt");  // length and its complement
  EXPECT_EQ(inflated("\xf2\x48\xcd\xc9\xc9\x07\x00\x00\x00\xff\xff"s), "corrupt");  // what was to be removed
}

TEST(Inflater, EveryTruncationIsSeen) {
  for (const std::string& message : {"Hello"s, prose(3000), std::string(5000, 'x')}) {
    const std::string payload = compressed(message);
    Inflater inflater;
    for (std::size_t size = 0; size < payload.size(); ++size) {
      ASSERT_EQ(inflated(inflater, std::string_view(payload).substr(0, size)), "corrupt") << size;
    }
    EXPECT_EQ(inflated(inflater, payload), message);
  }
}

// -- limits

TEST(Inflater, TheLimitIsExact) {
  const std::string payload = compressed(std::string(100000, 'x'));
  EXPECT_EQ(inflated(payload, 100000), std::string(100000, 'x'));
  EXPECT_EQ(inflated(payload, 99999), "too big");
  EXPECT_EQ(inflated(compressed("Hello"), 5), "Hello");
  EXPECT_EQ(inflated(compressed("Hello"), 4), "too big");
  EXPECT_EQ(inflated(compressed(""), 0), "");
}

TEST(Inflater, ABombCostsNoMoreThanTheLimit) {
  const std::string payload = compressed(std::string(64U << 20U, '\0'));
  EXPECT_LT(payload.size(), 100000U);
  Inflater inflater;
  inflater.start(50000);
  std::string out;
  EXPECT_EQ(inflater.feed(payload, out), std::unexpected(InflateError::TooBig));
  EXPECT_LE(out.size(), 50000U);
  EXPECT_LE(out.capacity(), 50001U);
}

TEST(Inflater, AFullMessageTakesNoMoreRoomThanTheLimit) {
  const std::string payload = compressed(prose(50000));
  Inflater inflater;
  inflater.start(50000);
  std::string out;
  ASSERT_TRUE(inflater.feed(payload, out));
  ASSERT_TRUE(inflater.finish(out));
  EXPECT_EQ(out, prose(50000));
  EXPECT_LE(out.capacity(), 50001U);
}

TEST(Inflater, AMessageBehindAnError) {
  Inflater inflater;
  EXPECT_EQ(inflated(inflater, compressed(std::string(100, 'x')), 10), "too big");
  EXPECT_EQ(inflated(inflater, compressed("Hello"), 10), "Hello");
  EXPECT_EQ(inflated(inflater, "\xff", 10), "corrupt");
  EXPECT_EQ(inflated(inflater, compressed("Hello"), 10), "Hello");
}

TEST(Inflater, AppendsBehindWhatIsThere) {
  Inflater inflater;
  inflater.start(5);
  std::string out = "> ";
  ASSERT_TRUE(inflater.feed(compressed("Hello"), out));
  ASSERT_TRUE(inflater.finish(out));
  EXPECT_EQ(out, "> Hello");
}

// -- there and back

TEST(Deflater, EverySizeComesBack) {
  Inflater inflater;
  for (const std::size_t size : {1, 2, 100, 4095, 16383, 16384, 16385, 32768, 65536, 300000}) {
    for (const std::string& message : {prose(size), noise(size), std::string(size, 'x')}) {
      ASSERT_EQ(inflated(inflater, compressed(message)), message) << size;
    }
  }
}

TEST(Deflater, EveryWindowAndLevel) {
  Inflater inflater;
  const std::string message = prose(70000);
  for (int bits = 9; bits <= 15; ++bits) {
    for (const int level : {1, 6, 9}) {
      ASSERT_EQ(inflated(inflater, compressed(message, bits, level)), message) << bits << ' ' << level;
    }
  }
}

// What repeats farther back than the window reaches cannot be referred to: it is what the peer relies on.
TEST(Deflater, KeepsToItsWindow) {
  const std::string block = noise(600);
  const std::string message = block + block;
  EXPECT_GT(compressed(message, 9).size(), 1200U);
  EXPECT_LT(compressed(message, 11).size(), 700U);
}

TEST(Deflater, MessagesAreCompressedByThemselves) {
  Deflater deflater;
  std::string first;
  std::string second;
  deflater.compress("Hello", first);
  deflater.compress("Hello", second);
  EXPECT_EQ(first, second);
}

TEST(Deflater, Appends) {
  Deflater deflater;
  std::string out = "> ";
  deflater.compress("Hello", out);
  EXPECT_EQ(out, "> \xf2\x48\xcd\xc9\xc9\x07\x00"s);
}

TEST(DeflaterDeathTest, ZlibHasNoWindowOfEightBits) { EXPECT_DEATH(Deflater(8), "Z_OK"); }

}  // namespace
}  // namespace m0::websocket
