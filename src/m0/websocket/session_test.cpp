// Frames and messages: RFC 6455 sections 5 to 8, RFC 7692 sections 6 and 7. What the specifications demand, row by row,
// is in conformance_test.cpp; here is what a session does besides, and how its rules meet.

#include "m0/websocket/session.hpp"

#include <functional>
#include <random>

#include "m0/websocket/cases_test.hpp"
#include "m0/websocket/close_code.hpp"

namespace m0::websocket {
namespace {

using namespace testing;
using namespace std::string_literals;

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string compressed(std::string_view message) {
  Deflater deflater;
  std::string out;
  deflater.compress(message, out);
  return out;
}

const std::string kHello = "\xf2\x48\xcd\xc9\xc9\x07\x00"s;  // RFC 7692 7.2.3.1
const std::string kEuro = "\xe2\x82\xac";

const std::vector<Case> kMessages = {
    {"nothing", "", ""},
    {"one", text("abc"), "text(abc)"},
    {"two kinds in a row", text("abc") + binary("\x00\xff"s), "text(abc); binary(\x00\xff)"s},
    {"empty ones", text("") + binary("") + text(""), "text(); binary(); text()"},
    {"a hundred", repeated(text("x"), 100), repeated("text(x); ", 99) + "text(x)"},
    {"16 bit length", text(std::string(126, 'a')), said("text", std::string(126, 'a'))},
    {"64 bit length", binary(std::string(65536, 'b')) + text("after"),
     said("binary", std::string(65536, 'b')) + "; text(after)"},
    {"a header and no more", "\x81"s, "waiting"},
    {"a header without its mask", "\x81\x83\x01\x02"s, "waiting"},
    {"a payload that is not complete", text("abc").substr(0, 8), "waiting"},
    {"whole ones before one that is not", text("abc") + text("def").substr(0, 7), "text(abc); waiting"},
};

const std::vector<Case> kFragments = {
    {"two", text_begins("ab") + ends("cd"), "text(abcd)"},
    {"many", binary_begins("a") + repeated(goes_on("b"), 50) + ends("c"),
     said("binary", "a" + std::string(50, 'b') + "c")},
    {"empty first", text_begins("") + ends("ab"), "text(ab)"},
    {"empty last", text_begins("ab") + ends(""), "text(ab)"},
    {"all empty", text_begins("") + goes_on("") + ends(""), "text()"},
    {"empty between", text_begins("a") + goes_on("") + goes_on("b") + ends(""), "text(ab)"},
    {"control frames between", text_begins("a") + ping("ping") + goes_on("b") + pong("pong") + ends("c"),
     "ping(ping); pong(pong); text(abc)"},
    {"close between", text_begins("a") + close(1000) + ends("b"), "close(1000)"},
    {"two messages", text_begins("a") + ends("b") + binary_begins("c") + ends("d"), "text(ab); binary(cd)"},
    {"a whole one behind", text_begins("a") + ends("b") + text("c"), "text(ab); text(c)"},
    {"no end", text_begins("a") + goes_on("b"), "waiting"},
    {"no end, and empty", text_begins(""), "waiting"},
    {"a character over two frames", text_begins("\xe2\x82") + ends("\xac"), "text(" + kEuro + ")"},
    {"a character over three frames and a ping", text_begins("\xe2") + goes_on("\x82") + ping() + ends("\xac"),
     "ping(); text(" + kEuro + ")"},
    {"large ones", text_begins(std::string(3000, 'a')) + ends(std::string(3000, 'b')),
     said("text", std::string(3000, 'a') + std::string(3000, 'b'))},
};

const std::vector<Case> kControl = {
    {"ping and pong", ping("a") + pong("b") + ping() + pong(), "ping(a); pong(b); ping(); pong()"},
    {"of 125 bytes", ping(std::string(125, 'p')), "ping(" + std::string(125, 'p') + ")"},
    {"close without a code", frame(0x88), "close(1005)"},
    {"close with a reason", close(1001, "away " + kEuro), "close(1001 away " + kEuro + ")"},
    {"close with the longest reason", close(4000, std::string(123, 'r')), "close(4000 " + std::string(123, 'r') + ")"},
    {"nothing is read behind a close", close(1000) + text("a") + "\xff\xff", "close(1000)"},
    {"close of one byte", frame(0x88, "\x03"), "1002 close frame of one byte"},
    {"close code 0", close(0), "1002 close code is not to be sent"},
    {"close code 999", close(999), "1002 close code is not to be sent"},
    {"close code 5000", close(5000), "1002 close code is not to be sent"},
    {"close code 65535", close(65535), "1002 close code is not to be sent"},
    {"a bad code and a bad reason", close(1005, "\xff"), "1002 close code is not to be sent"},
    {"close reason that is no UTF-8", close(1000, "a\xff"), "1007 close reason is not UTF-8"},
    {"close reason that ends inside a character", close(1000, "a\xe2\x82"), "1007 close reason is not UTF-8"},
    {"ping with any bytes", ping("\x00\xff\xfe"s), "ping(\x00\xff\xfe)"s},
    {"not complete inside a message", text_begins("a") + ping("long enough").substr(0, 9), "waiting"},
};

const std::vector<Case> kUtf8 = {
    {"of every length", text("a\xc3\xa4" + kEuro + "\xf0\x9f\x98\x80"), "text(a\xc3\xa4" + kEuro + "\xf0\x9f\x98\x80)"},
    {"NUL", text("a\0b"s), "text(a\0b)"s},
    {"binary may be anything", binary("\xff\xc0\x80"), "binary(\xff\xc0\x80)"},
    {"bad first byte", text("\xff"), "1007 text is not UTF-8"},
    {"bad byte late", text(std::string(300, 'a') + "\xc0"), "1007 text is not UTF-8"},
    {"before its frame is complete", text("ab\xff" + std::string(100, 'c')).substr(0, 9), "1007 text is not UTF-8"},
    {"before a character is complete", text("\xed\xa0\x80zzz").substr(0, 8), "1007 text is not UTF-8"},
    {"in the first fragment", text_begins("\xff") + ping(), "1007 text is not UTF-8"},
    {"in the last fragment", text_begins("a") + ends("\xff"), "1007 text is not UTF-8"},
    {"a character that the next fragment breaks", text_begins("\xe2\x82") + goes_on("a"), "1007 text is not UTF-8"},
    {"ends inside a character", text("a\xe2\x82"), "1007 text ends inside a character"},
    {"fragments end inside a character", text_begins("\xe2") + ends("\x82"), "1007 text ends inside a character"},
    {"an empty last fragment completes nothing", text_begins("\xe2\x82") + ends(""),
     "1007 text ends inside a character"},
    {"a broken text does not reach the next", text_begins("\xc3") + ends("\xa4") + text("b"),
     "text(\xc3\xa4); text(b)"},
};

const std::vector<Case> kLimits = {
    {"at the limit", text(std::string(10, 'a')), "text(aaaaaaaaaa)", 10},
    {"one over", text(std::string(11, 'a')), "1009 message too big", 10},
    {"decided by the header", text(std::string(11, 'a')).substr(0, 6), "1009 message too big", 10},
    {"not before the header is complete", text(std::string(11, 'a')).substr(0, 5), "waiting", 10},
    {"fragments at the limit", text_begins("aaaaa") + ends("bbbbb"), "text(aaaaabbbbb)", 10},
    {"fragments over it", text_begins("aaaaa") + ends("bbbbbb"), "1009 message too big", 10},
    {"the sum is decided by the header", text_begins("aaaaa") + ends("bbbbbb").substr(0, 6), "1009 message too big",
     10},
    {"an empty fragment at the limit", text_begins("aaaaaaaaaa") + goes_on("") + ends(""), "text(aaaaaaaaaa)", 10},
    {"each message anew", text("aaaaaaaaaa") + text("aaaaaaaaaa"), "text(aaaaaaaaaa); text(aaaaaaaaaa)", 10},
    {"the greatest length there is", bytes_of({0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4}),
     "1009 message too big"},
    {"the sum does not overflow",
     binary_begins("a") + bytes_of({0x80, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4}),
     "1009 message too big"},
    {"control frames have their own", ping("longer than ten bytes"), "ping(longer than ten bytes)", 10},
    {"nothing at all is allowed", text("") + text("a"), "text(); 1009 message too big", 0},
};

const std::vector<Case> kOrder = {
    {"a violation is the last", frame(0x83, "a") + text("b"), "1002 reserved opcode"},
    {"messages before a violation", text("a") + frame(0xa1) + text("b"), "text(a); 1002 reserved bit"},
    {"a bad header inside a message", text_begins("a") + text("b"), "1002 message inside a message"},
    {"text that was bad before its bad header", text_begins("\xff") + frame(0x83), "1007 text is not UTF-8"},
    {"not masked and too big", bytes_of({0x82, 0x7f, 0, 0, 0, 0, 0xff, 0, 0, 0}), "1002 frame is not masked"},
    {"not the shortest length and too big", bytes_of({0x82, 0xfe, 0, 20, 1, 2, 3, 4}),
     "1002 length is not in its shortest form", 10},
};

const std::vector<Case> kDeflate = {
    {"one", frame(0xc1, kHello), "text(Hello)"},
    {"binary", frame(0xc2, kHello), "binary(Hello)"},
    {"not compressed although agreed", text("Hello"), "text(Hello)"},
    {"mixed", frame(0xc1, kHello) + text("a") + frame(0xc1, kHello), "text(Hello); text(a); text(Hello)"},
    {"in fragments", frame(0x41, kHello.substr(0, 3)) + ends(kHello.substr(3)), "text(Hello)"},
    {"byte a fragment with pings",
     frame(0x41, kHello.substr(0, 1)) + goes_on(kHello.substr(1, 1)) + ping("p") + goes_on(kHello.substr(2, 4)) +
         pong("q") + ends(kHello.substr(6)),
     "ping(p); pong(q); text(Hello)"},
    {"an empty fragment first", frame(0x41) + ends(kHello), "text(Hello)"},
    {"an empty fragment last", frame(0x41, kHello) + ends(""), "text(Hello)"},
    {"an empty message", frame(0xc1, "\0"s), "text()"},
    {"a plain message in fragments", text_begins("a") + ends("b"), "text(ab)"},
    {"a plain message behind a compressed one in fragments",
     frame(0x41, kHello) + ends("") + text_begins("a") + ends("b"), "text(Hello); text(ab)"},
    {"long", frame(0xc1, compressed(repeated("long text, ", 10000))), said("text", repeated("long text, ", 10000))},
    {"corrupt", frame(0xc1, "\xff\xff"), "1007 compressed data are corrupt"},
    {"truncated", frame(0xc1, kHello.substr(0, 5)), "1007 compressed data are corrupt"},
    {"no payload at all", frame(0xc1), "1007 compressed data are corrupt"},
    {"text that is no UTF-8", frame(0xc1, compressed("a\xff")), "1007 text is not UTF-8"},
    {"text that ends inside a character", frame(0xc1, compressed("a\xe2\x82")), "1007 text is not UTF-8"},
    {"binary may be anything", frame(0xc2, compressed("\xff\xc0")), "binary(\xff\xc0)"},
    {"no end", frame(0x41, kHello), "waiting"},
    {"at the limit", frame(0xc1, compressed(std::string(100, 'x'))), "text(" + std::string(100, 'x') + ")", 100},
    {"over the limit when inflated", frame(0xc1, compressed(std::string(101, 'x'))),
     "1009 message too big when inflated", 100},
    {"a bomb", frame(0xc2, compressed(std::string(5000000, '\0'))), "1009 message too big when inflated"},
    {"over the limit as it comes", frame(0xc2, std::string(177, 'x')).substr(0, 8), "1009 message too big", 100},
    {"longer compressed than not", frame(0xc2, "\x00\x64\x00\x9b\xff"s + std::string(100, 'y') + "\x00"s),
     "binary(" + std::string(100, 'y') + ")", 100},
    {"fragments over the limit as they come", frame(0x42, std::string(100, 'x')) + goes_on(std::string(77, 'x')),
     "1009 message too big", 100},
};

M0_WEBSOCKET_CASES(Message, false, kMessages);
M0_WEBSOCKET_CASES(Fragment, false, kFragments);
M0_WEBSOCKET_CASES(Control, false, kControl);
M0_WEBSOCKET_CASES(Utf8Text, false, kUtf8);
M0_WEBSOCKET_CASES(Limit, false, kLimits);
M0_WEBSOCKET_CASES(Order, false, kOrder);
M0_WEBSOCKET_CASES(Deflated, true, kDeflate);

// -- memory, views and pauses

/// Records, and does something more at each message.
class Owner final : public Recorder {
 public:
  void on_message(Opcode kind, std::string_view payload) override {
    Recorder::on_message(kind, payload);
    if (hook) hook(payload);
  }
  void on_ping(std::string_view payload) override {
    Recorder::on_ping(payload);
    if (ping_hook) ping_hook();
  }
  std::function<void(std::string_view)> hook;
  std::function<void()> ping_hook;
};

class SessionTest : public ::testing::Test {
 protected:
  std::size_t receive(std::string bytes) { return session.receive(bytes, owner); }

  SessionContext context;
  Session session{context, true};
  Owner owner;
};

TEST_F(SessionTest, IsSmall) { EXPECT_LE(sizeof(Session), 48U); }

TEST_F(SessionTest, AWholeMessageIsPassedOnFromWhereItLies) {
  std::string bytes = text("abc") + binary("def");
  std::vector<std::string_view> seen;
  owner.hook = [&](std::string_view payload) { seen.push_back(payload); };
  EXPECT_EQ(session.receive(bytes, owner), bytes.size());
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].data(), bytes.data() + 6);
  EXPECT_EQ(seen[1].data(), bytes.data() + 9 + 6);
  EXPECT_EQ(bytes.substr(6, 3), "abc");  // unmasked in place
}

TEST_F(SessionTest, AHeaderThatCameBeforeCostsNoCopyEither) {
  const std::string whole = text("abc");
  receive(whole.substr(0, 6));
  EXPECT_EQ(session.held_bytes(), 0U);
  std::string rest = whole.substr(6);
  const char* seen = nullptr;
  owner.hook = [&](std::string_view payload) { seen = payload.data(); };
  session.receive(rest, owner);
  EXPECT_EQ(seen, rest.data());
}

TEST_F(SessionTest, HoldsNothingBetweenMessages) {
  EXPECT_EQ(session.held_bytes(), 0U);
  for (const std::string& bytes :
       {text("abc"), text_begins("ab") + ends("cd"), ping("p"), frame(0xc1, kHello),
        frame(0x41, kHello.substr(0, 3)) + ping("p") + ends(kHello.substr(3)), text(std::string(70000, 'a'))}) {
    for (const char& c : bytes) receive({c});
    EXPECT_EQ(session.held_bytes(), 0U);
    EXPECT_FALSE(session.mid_message());
  }
}

TEST_F(SessionTest, AHeaderAnnouncesAndTakesNothing) {
  receive(text(std::string(1000000, 'a')).substr(0, 14));
  EXPECT_TRUE(session.mid_message());
  EXPECT_EQ(session.held_bytes(), 0U);
}

TEST_F(SessionTest, HoldsWhatCameAndNoMoreThanItsDouble) {
  const std::string bytes = text(std::string(1000000, 'a'));
  std::size_t held = 0;
  for (std::size_t at = 0; at + 1000 < bytes.size(); at += 1000) {
    receive(bytes.substr(at, 1000));
    held = session.held_bytes();
    ASSERT_LE(held, 2 * (at + 1000) + 200);
  }
  EXPECT_LE(held, 1000000U + 200U);  // and near its end no more than it announced
}

TEST_F(SessionTest, FragmentsTakeNoMoreThanTheLimit) {
  context.max_message = 50000;
  receive(binary_begins(""));
  for (int i = 0; i < 500; ++i) receive(goes_on(std::string(100, 'a')));
  EXPECT_FALSE(session.over());
  EXPECT_GE(session.held_bytes(), 50000U);
  EXPECT_LE(session.held_bytes(), 50000U + 200U);
}

// A client chooses its fragments: a new block for each would cost the square of their number.
TEST_F(SessionTest, ManyFragmentsAreNotCopiedManyTimes) {
  receive(binary_begins("a"));
  int blocks = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::size_t before = session.held_bytes();
    receive(goes_on("a"));
    blocks += session.held_bytes() != before ? 1 : 0;
  }
  EXPECT_LE(blocks, 10);
}

// A fragmented message in progress keeps what came: no window of zlib, and nothing inflated.
TEST_F(SessionTest, ACompressedMessageInProgressHoldsItsCompressedBytes) {
  const std::string payload = compressed(std::string(900000, 'x'));
  ASSERT_LT(payload.size(), 2000U);
  receive(frame(0x42, payload));
  EXPECT_LE(session.held_bytes(), 2 * payload.size() + 200);
  receive(ends(""));
  EXPECT_EQ(owner.log(), said("binary", std::string(900000, 'x')));
  EXPECT_EQ(session.held_bytes(), 0U);
}

TEST_F(SessionTest, RoomForInflatingIsKeptWhileItIsSmall) {
  receive(frame(0xc1, compressed(std::string(10000, 'x'))));
  EXPECT_GE(context.inflated.capacity(), 10000U);
  receive(frame(0xc1, compressed(std::string(500000, 'x'))));
  EXPECT_LE(context.inflated.capacity(), 64U << 10U);
}

TEST_F(SessionTest, WhatAViolationFindsIsGivenBack) {
  receive(text_begins("abc"));
  EXPECT_GT(session.held_bytes(), 0U);
  receive(frame(0x83));
  EXPECT_TRUE(session.over());
  EXPECT_EQ(session.held_bytes(), 0U);
  EXPECT_EQ(receive(text("abc")), 9U);
  EXPECT_EQ(owner.log(), "1002 reserved opcode");
}

TEST_F(SessionTest, PausesBehindAMessage) {
  const std::string bytes = text("a") + text("b") + text("c");
  std::string scratch = bytes;
  owner.hook = [&](std::string_view) { session.pause(); };
  EXPECT_EQ(session.receive(scratch, owner), 7U);
  EXPECT_EQ(owner.log(), "text(a)");
  EXPECT_EQ(scratch.substr(7), bytes.substr(7));  // what was not used is as it was
  EXPECT_EQ(session.receive(std::span(scratch).subspan(7), owner), 7U);
  EXPECT_EQ(owner.log(), "text(a); text(b)");
  owner.hook = nullptr;
  EXPECT_EQ(session.receive(std::span(scratch).subspan(14), owner), 7U);
  EXPECT_EQ(owner.log(), "text(a); text(b); text(c)");
}

TEST_F(SessionTest, PausesInsideAMessage) {
  owner.ping_hook = [&] { session.pause(); };
  const std::string bytes = text_begins("a") + ping() + ends("b");
  EXPECT_EQ(receive(bytes), 7U + 6U);
  EXPECT_TRUE(session.mid_message());
  EXPECT_EQ(receive(bytes.substr(13)), 7U);
  EXPECT_EQ(owner.log(), "ping(); text(ab)");
}

TEST_F(SessionTest, IsBetweenMessagesWhenItPassesOneOn) {
  int seen = 0;
  owner.hook = [&](std::string_view) {
    ++seen;
    EXPECT_FALSE(session.mid_message());
    EXPECT_EQ(session.held_bytes(), 0U);
  };
  receive(text("a") + text_begins("b") + ends("c") + frame(0xc1, kHello));
  EXPECT_EQ(seen, 3);
}

TEST_F(SessionTest, AnEventMayReachAnotherSession) {
  Session other(context, true);
  Recorder second;
  owner.hook = [&](std::string_view payload) {
    std::string bytes = frame(0xc1, compressed("other"));
    other.receive(bytes, second);
    EXPECT_EQ(payload, "Hello");
  };
  receive(frame(0xc1, kHello));
  EXPECT_EQ(owner.log(), "text(Hello)");
  EXPECT_EQ(second.log(), "text(other)");
}

TEST_F(SessionTest, SessionsOfOneLoopDoNotMixTheirMessages) {
  Session other(context, true);
  Recorder second;
  const std::string payload = compressed("World");
  receive(frame(0x41, kHello.substr(0, 3)));
  std::string bytes = frame(0x41, payload.substr(0, 4));
  other.receive(bytes, second);
  receive(ends(kHello.substr(3)));
  bytes = ends(payload.substr(4));
  other.receive(bytes, second);
  EXPECT_EQ(owner.log(), "text(Hello)");
  EXPECT_EQ(second.log(), "text(World)");
}

TEST_F(SessionTest, OneThatFailsDoesNotHarmTheNext) {
  {
    Session other(context, true);
    Recorder second;
    std::string bytes = frame(0xc1, "\xff\xff");
    other.receive(bytes, second);
    EXPECT_EQ(second.log(), "1007 compressed data are corrupt");
  }
  receive(frame(0xc1, kHello));
  EXPECT_EQ(owner.log(), "text(Hello)");
}

// What frame.hpp writes for a client is what this session reads, for random messages in random fragments and pieces.
TEST_F(SessionTest, ReadsWhatTheEncoderWrites) {
  std::mt19937 random(3);  // NOLINT: the same messages each time
  std::string bytes;
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const bool squeezed = random() % 2 == 0;
    std::string payload;
    for (auto n = random() % (random() % 10 == 0 ? 70000 : 200); n > 0; --n)
      payload += static_cast<char>('a' + random() % 26);
    expected += (expected.empty() ? "" : "; ") + said("text", payload);
    if (squeezed) payload = compressed(payload);
    std::string_view rest = payload;
    bool first = true;
    for (bool last = false; !last; first = false) {
      const std::string_view piece = rest.substr(0, random() % 3 == 0 ? random() % (rest.size() + 1) : rest.size());
      rest.remove_prefix(piece.size());
      last = rest.empty();
      const Mask mask{static_cast<std::uint8_t>(random()), static_cast<std::uint8_t>(random()), 0, 0xff};
      append_client_frame(
          bytes, {.opcode = first ? Opcode::Text : Opcode::Continuation, .fin = last, .compressed = first && squeezed},
          mask, piece);
    }
  }
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = 1 + random() % 5000;
    at += receive(bytes.substr(at, size));
  }
  EXPECT_EQ(owner.log(), expected);
}

}  // namespace
}  // namespace m0::websocket
