#pragma once
// A parser case is a document: the bytes, and the events they must give. Every case runs whole, split in two at every
// byte, and byte by byte; all of these must give the same events, reasons of refusals included.
//
// How events read, in order and separated by "; ":
//   GET /x?y host=a     a head: method, target and authority, then what differs from the plain case: "1.0",
//                       "absolute" or "asterisk", "close", "length=N", "chunked", "continue"
//   {Name=value}        its fields but for Host, only in tables that ask for them
//   body(abc)           all bytes of a body in a row
//   end                 the request is complete
//   400 why             refused
//   waiting             the input ended inside a request

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "m0/base/bytes.hpp"
#include "m0/http/h1_session.hpp"

namespace m0::http::testing {

struct Case {
  std::string name;
  std::string bytes;
  std::string events;
  Limits limits = {};
};

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Writes down what a session says.
class Recorder final : public SessionEvents {
 public:
  explicit Recorder(bool with_fields = false) : with_fields_(with_fields) {}

  void on_head(StreamId /*stream*/, const RequestHead& head) override {
    next(std::string(head.method) + ' ' + std::string(head.target));
    if (head.authority.data() != nullptr) log_ += " host=" + std::string(head.authority);
    if (head.version == Version::Http10) log_ += " 1.0";
    if (head.form == TargetForm::Absolute) log_ += " absolute";
    if (head.form == TargetForm::Asterisk) log_ += " asterisk";
    if (!head.keep_alive) log_ += " close";
    if (head.body == BodyKind::Length) log_ += " length=" + std::to_string(head.content_length);
    if (head.body == BodyKind::Chunked) log_ += " chunked";
    if (head.expect_continue) log_ += " continue";
    if (!with_fields_) return;
    for (const Field& field : head.fields) {
      if (base::iequals(field.name, "host")) continue;
      log_ += " {" + std::string(field.name) + '=' + std::string(field.value) + '}';
    }
  }
  void on_body(StreamId /*stream*/, std::string_view bytes) override {
    EXPECT_FALSE(bytes.empty());
    if (!in_body_) next("body()");
    in_body_ = true;
    log_.insert(log_.size() - 1, bytes);
  }
  void on_request_end(StreamId /*stream*/) override {
    next("end");
    ended_ = true;
  }
  void on_protocol_error(StreamId /*stream*/, int status, const char* why) override {
    next(std::to_string(status) + ' ' + why);
  }

  void next(const std::string& event) {
    if (!log_.empty()) log_ += "; ";
    log_ += event;
    in_body_ = false;
  }
  [[nodiscard]] const std::string& log() const { return log_; }
  /// Whether a request ended since the last time.
  [[nodiscard]] bool take_end() { return std::exchange(ended_, false); }

 private:
  std::string log_;
  bool with_fields_;
  bool in_body_ = false;
  bool ended_ = false;
};

/// Feeds a session and answers each request with an empty 200 as soon as it is complete.
class Feeder {
 public:
  explicit Feeder(const Limits& limits, bool with_fields = false)
      : context_{limits, {}}, session_(context_), recorder_(with_fields) {}

  void feed(std::string_view bytes) {
    // A copy in a block of its own, so that a sanitizer sees a read behind the end and a view kept too long.
    const std::vector<char> block(bytes.begin(), bytes.end());
    std::string_view rest(block.data(), block.size());
    while (!rest.empty() && (!session_.paused() || session_.keep_alive())) {
      rest.remove_prefix(session_.receive(rest, recorder_));
      if (!recorder_.take_end()) break;
      std::string out;
      session_.begin_answer(1, {}, 0, {}, false, out);
      session_.end_answer(1, out);
    }
  }
  /// Everything said so far.
  [[nodiscard]] std::string events() {
    if (session_.mid_request() && !session_.paused()) recorder_.next("waiting");
    return recorder_.log();
  }

 private:
  H1Context context_;
  H1Session session_;
  Recorder recorder_;
};

inline void expect_events(const Case& c, bool with_fields = false) {
  const std::string_view bytes = c.bytes;
  {
    Feeder whole(c.limits, with_fields);
    whole.feed(bytes);
    ASSERT_EQ(whole.events(), c.events) << "whole";
  }
  {
    Feeder single(c.limits, with_fields);
    for (std::size_t i = 0; i < bytes.size(); ++i) single.feed(bytes.substr(i, 1));
    ASSERT_EQ(single.events(), c.events) << "byte by byte";
  }
  for (std::size_t split = 1; split < bytes.size(); ++split) {
    Feeder halves(c.limits, with_fields);
    halves.feed(bytes.substr(0, split));
    halves.feed(bytes.substr(split));
    ASSERT_EQ(halves.events(), c.events) << "split at " << split;
  }
}

inline std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name;
  for (const char c : info.param.name) name += ::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

/// A GET with these lines (each with its CRLF) beside a Host.
inline std::string get(std::string_view lines) { return "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n"; }

/// A POST with these lines beside a Host, and then `body` as it is.
inline std::string post(std::string_view lines, std::string_view body) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n" + std::string(body);
}

}  // namespace m0::http::testing

/// One table of cases and its test.
#define M0_HTTP_CASES(Topic, with_fields, ...)                                                                  \
  class Topic : public ::testing::TestWithParam<m0::http::testing::Case> {};                                    \
  TEST_P(Topic, GivesTheSameEventsForEverySplit) { m0::http::testing::expect_events(GetParam(), with_fields); } \
  INSTANTIATE_TEST_SUITE_P(Rfc9112, Topic, ::testing::ValuesIn(__VA_ARGS__), m0::http::testing::case_name)
