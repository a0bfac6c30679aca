#include "m0/websocket/frame.hpp"

#include <random>

#include "m0/websocket/close_code.hpp"
#include "m0/websocket/utf8.hpp"

namespace m0::websocket {
namespace {

using namespace std::string_literals;

std::string header(FrameKind kind, std::uint64_t length) {
  std::string out;
  append_header(out, kind, length);
  return out;
}

std::string close_frame(std::uint16_t code, std::string_view reason = {}) {
  std::string out;
  append_close(out, code, reason);
  return out;
}

std::string joined(std::string_view head, std::string_view tail) { return std::string(head).append(tail); }

TEST(Frame, FirstByte) {
  EXPECT_EQ(header({Opcode::Text}, 0), "\x81\x00"s);
  EXPECT_EQ(header({Opcode::Binary}, 0), "\x82\x00"s);
  EXPECT_EQ(header({Opcode::Close}, 0), "\x88\x00"s);
  EXPECT_EQ(header({Opcode::Ping}, 0), "\x89\x00"s);
  EXPECT_EQ(header({Opcode::Pong}, 0), "\x8a\x00"s);
  EXPECT_EQ(header({Opcode::Continuation}, 0), "\x80\x00"s);
  EXPECT_EQ(header({.opcode = Opcode::Text, .fin = false}, 0), "\x01\x00"s);
  EXPECT_EQ(header({.opcode = Opcode::Text, .compressed = true}, 0), "\xc1\x00"s);
  EXPECT_EQ(header({.opcode = Opcode::Binary, .fin = false, .compressed = true}, 0), "\x42\x00"s);
}

TEST(Frame, LengthInItsShortestForm) {
  EXPECT_EQ(header({Opcode::Text}, 125), "\x81\x7d"s);
  EXPECT_EQ(header({Opcode::Text}, 126), "\x81\x7e\x00\x7e"s);
  EXPECT_EQ(header({Opcode::Text}, 256), "\x81\x7e\x01\x00"s);
  EXPECT_EQ(header({Opcode::Text}, 65535), "\x81\x7e\xff\xff"s);
  EXPECT_EQ(header({Opcode::Text}, 65536), "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"s);
  EXPECT_EQ(header({Opcode::Text}, 0x0102030405060708), "\x81\x7f\x01\x02\x03\x04\x05\x06\x07\x08"s);
}

TEST(Frame, PayloadFollows) {
  std::string out = "before";
  append_frame(out, {Opcode::Text}, "Hello");
  EXPECT_EQ(out, "before\x81\x05Hello");
}

TEST(Frame, Close) {
  EXPECT_EQ(close_frame(1000), "\x88\x02\x03\xe8"s);
  EXPECT_EQ(close_frame(4999, "bye"), joined("\x88\x05\x13\x87"s, "bye"));
  EXPECT_EQ(close_frame(close_code::kNoStatus, "never sent"), "\x88\x00"s);
}

TEST(Frame, ReasonsAreCutBetweenCharacters) {
  EXPECT_EQ(close_frame(1000, std::string(123, 'x')), joined("\x88\x7d\x03\xe8"s, std::string(123, 'x')));
  EXPECT_EQ(close_frame(1000, std::string(124, 'x')), joined("\x88\x7d\x03\xe8"s, std::string(123, 'x')));
  EXPECT_EQ(close_frame(1000, joined(std::string(122, 'x'), "\xc3\xa4")),
            joined("\x88\x7c\x03\xe8"s, std::string(122, 'x')));
  EXPECT_EQ(close_frame(1000, "ab\xff zz"), joined("\x88\x04\x03\xe8"s, "ab"));
}

TEST(FrameDeathTest, WhatMayNotBeWritten) {
  EXPECT_DEATH(close_frame(1006), "server_may_send_code");
  EXPECT_DEATH(close_frame(1010), "server_may_send_code");
  EXPECT_DEATH(header({Opcode::Ping}, 126), "kMaxControl");
  EXPECT_DEATH(header({.opcode = Opcode::Ping, .fin = false}, 0), "kind.fin");
  EXPECT_DEATH(header({.opcode = Opcode::Pong, .compressed = true}, 0), "kind.compressed");
}

// RFC 6455 5.7: "Hello", masked.
TEST(Frame, ClientFrame) {
  std::string out;
  append_client_frame(out, {Opcode::Text}, {0x37, 0xfa, 0x21, 0x3d}, "Hello");
  EXPECT_EQ(out, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"s);
  out.clear();
  append_client_frame(out, {Opcode::Binary}, {0, 0, 0, 0}, std::string(126, 'a'));
  EXPECT_EQ(out, joined("\x82\xfe\x00\x7e\x00\x00\x00\x00"s, std::string(126, 'a')));
  out.clear();
  append_client_frame(out, {Opcode::Binary}, {0, 0, 0, 0}, std::string(65536, 'a'));
  EXPECT_EQ(out, joined("\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"s, std::string(65536, 'a')));
}

// Byte by byte is what the specification says; words must give the same for every length, alignment and offset.
TEST(Unmask, EveryLengthAlignmentAndOffset) {
  std::mt19937 random(1);  // NOLINT: the same bytes each time
  const Mask mask{0x12, 0x00, 0xff, 0xa5};
  for (std::size_t length = 0; length <= 40; ++length) {
    for (std::size_t alignment = 0; alignment < 8; ++alignment) {
      for (std::size_t offset = 0; offset < 8; ++offset) {
        std::vector<char> block(alignment + length + 8);
        for (char& c : block) c = static_cast<char>(random());
        std::vector<char> expected = block;
        for (std::size_t i = 0; i < length; ++i) {
          expected[alignment + i] = static_cast<char>(expected[alignment + i] ^ mask[(offset + i) % 4]);
        }
        unmask(std::span(block).subspan(alignment, length), mask, offset);
        ASSERT_EQ(block, expected) << length << ' ' << alignment << ' ' << offset;
      }
    }
  }
}

TEST(Unmask, InPieces) {
  const Mask mask{1, 2, 3, 4};
  std::string whole(100, 'z');
  unmask(whole, mask, 0);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    std::string pieces(100, 'z');
    unmask(std::span(pieces).first(cut), mask, 0);
    unmask(std::span(pieces).subspan(cut), mask, cut);
    ASSERT_EQ(pieces, whole) << cut;
  }
}

TEST(Unmask, TheOffsetOfAHugeFrame) {
  std::string bytes("\0\0", 2);
  unmask(bytes, {1, 2, 3, 4}, (std::uint64_t{1} << 62U) + 3);
  EXPECT_EQ(bytes, "\x04\x01");
}

}  // namespace
}  // namespace m0::websocket
