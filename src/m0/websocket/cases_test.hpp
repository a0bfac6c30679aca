#pragma once
// A case is a document: the bytes of a client, and the events they must give. Every case runs whole, split in two, and
// byte by byte; all of these must give the same events, reasons of violations included. Inputs of up to 2,000 bytes are
// split at every byte, longer ones at every byte of their ends and at some between.
//
// How events read, in order and separated by "; ":
//   text(abc)  binary(abc)   a message; of a long one its size and its sum, see said()
//   ping(abc)  pong(abc)
//   close(1000 bye)          the peer's last frame; 1005 where it had no code
//   1002 why                 a violation
//   waiting                  the input ended inside a message or a frame

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "m0/websocket/session.hpp"

namespace m0::websocket::testing {

// -- what a client sends, written without the code under test

inline constexpr std::string_view kKey = "\x37\xfa\x21\x3d";  // of RFC 6455 5.7

inline std::string masked(std::string_view payload) {
  std::string out(payload);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(out[i] ^ kKey[i % 4]);
  return out;
}

inline std::string bytes_of(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out += static_cast<char>(byte);
  return out;
}

/// A masked frame with that first byte.
inline std::string frame(int first, std::string_view payload = {}) {
  const std::size_t size = payload.size();
  std::string out = bytes_of({first});
  int length_bytes = 0;
  if (size < 126) {
    out += bytes_of({0x80 | static_cast<int>(size)});
  } else {
    length_bytes = size < 65536 ? 2 : 8;
    out += bytes_of({size < 65536 ? 0xfe : 0xff});
  }
  for (int i = length_bytes - 1; i >= 0; --i) out += bytes_of({static_cast<int>(size >> (8 * i) & 0xffU)});
  out += kKey;
  return out + masked(payload);
}

inline std::string text(std::string_view payload) { return frame(0x81, payload); }
inline std::string binary(std::string_view payload) { return frame(0x82, payload); }
inline std::string ping(std::string_view payload = {}) { return frame(0x89, payload); }
inline std::string pong(std::string_view payload = {}) { return frame(0x8a, payload); }
inline std::string close(int code, std::string_view reason = {}) {
  return frame(0x88, bytes_of({code >> 8, code & 0xff}) + std::string(reason));
}
/// A message's first frame that is not its last, and the frames behind it.
inline std::string text_begins(std::string_view payload) { return frame(0x01, payload); }
inline std::string binary_begins(std::string_view payload) { return frame(0x02, payload); }
inline std::string goes_on(std::string_view payload) { return frame(0x00, payload); }
inline std::string ends(std::string_view payload) { return frame(0x80, payload); }

// -- what a session says

/// An event as it is written down.
inline std::string said(std::string_view event, std::string_view payload) {
  std::string out(event);
  out += '(';
  if (payload.size() <= 200) {
    out += payload;
  } else {
    std::uint32_t sum = 2166136261U;  // FNV-1a
    for (const char c : payload) sum = (sum ^ static_cast<std::uint8_t>(c)) * 16777619U;
    out += std::to_string(payload.size()) + " bytes, sum " + std::to_string(sum);
  }
  return out + ')';
}

class Recorder : public SessionEvents {
 public:
  virtual ~Recorder() = default;
  void on_message(Opcode kind, std::string_view payload) override {
    EXPECT_TRUE(kind == Opcode::Text || kind == Opcode::Binary);
    next(said(kind == Opcode::Text ? "text" : "binary", payload));
  }
  void on_ping(std::string_view payload) override { next(said("ping", payload)); }
  void on_pong(std::string_view payload) override { next(said("pong", payload)); }
  void on_close(std::uint16_t code, std::string_view reason) override {
    next("close(" + std::to_string(code) + (reason.empty() ? "" : " ") + std::string(reason) + ')');
  }
  void on_violation(std::uint16_t code, const char* why) override { next(std::to_string(code) + ' ' + why); }

  void next(const std::string& event) {
    if (!log_.empty()) log_ += "; ";
    log_ += event;
  }
  [[nodiscard]] const std::string& log() const { return log_; }

 private:
  std::string log_;
};

class Feeder {
 public:
  Feeder(bool deflate, std::size_t max_message) : session_(context_, deflate) { context_.max_message = max_message; }

  void feed(std::string_view bytes) {
    // A copy in a block of its own, so that a sanitizer sees a read behind the end and a view kept too long.
    std::vector<char> block(bytes.begin(), bytes.end());
    EXPECT_EQ(session_.receive(block, recorder_), bytes.size());
  }
  /// Everything said so far.
  [[nodiscard]] std::string events() {
    if (session_.over() || !session_.mid_message()) {
      EXPECT_EQ(session_.held_bytes(), 0U);
    } else {
      recorder_.next("waiting");
    }
    return recorder_.log();
  }

 private:
  SessionContext context_;
  Session session_;
  Recorder recorder_;
};

constexpr std::size_t kDefaultMaxMessage = 1U << 20U;

/// In how many ways `bytes` are cut in two.
inline std::vector<std::size_t> cuts(std::size_t size) {
  std::vector<std::size_t> out;
  for (std::size_t cut = 1; cut < size; ++cut) {
    if (size <= 2000 || cut < 64 || size - cut < 64 || cut % (size / 16) == 0) out.push_back(cut);
  }
  return out;
}

inline void expect_events(std::string_view bytes, std::string_view events, bool deflate = false,
                          std::size_t max_message = kDefaultMaxMessage) {
  {
    Feeder whole(deflate, max_message);
    whole.feed(bytes);
    ASSERT_EQ(whole.events(), events) << "whole";
  }
  {
    Feeder single(deflate, max_message);
    for (std::size_t i = 0; i < bytes.size(); ++i) single.feed(bytes.substr(i, 1));
    ASSERT_EQ(single.events(), events) << "byte by byte";
  }
  for (const std::size_t cut : cuts(bytes.size())) {
    Feeder halves(deflate, max_message);
    halves.feed(bytes.substr(0, cut));
    halves.feed(bytes.substr(cut));
    ASSERT_EQ(halves.events(), events) << "split at " << cut;
  }
}

/// A test's name from words.
inline std::string name_of(std::string_view words) {
  std::string name;
  for (const char c : words) name += ::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

struct Case {
  std::string name;
  std::string bytes;
  std::string events;
  std::size_t max_message = kDefaultMaxMessage;
};

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
inline std::string case_name(const ::testing::TestParamInfo<Case>& info) { return name_of(info.param.name); }

}  // namespace m0::websocket::testing

/// One table of cases and its test.
#define M0_WEBSOCKET_CASES(Topic, deflate, ...)                                       \
  class Topic : public ::testing::TestWithParam<m0::websocket::testing::Case> {};     \
  TEST_P(Topic, GivesTheSameEventsForEverySplit) {                                    \
    const m0::websocket::testing::Case& c = GetParam();                               \
    m0::websocket::testing::expect_events(c.bytes, c.events, deflate, c.max_message); \
  }                                                                                   \
  INSTANTIATE_TEST_SUITE_P(WebSocket, Topic, ::testing::ValuesIn(__VA_ARGS__), m0::websocket::testing::case_name)
