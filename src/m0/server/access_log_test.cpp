#include "m0/server/access_log.hpp"

#include <random>

namespace m0::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

AccessLogEntry sample() {
  AccessLogEntry entry;
  entry.time = std::chrono::system_clock::time_point(1'700'000'000'789ms);
  entry.peer = "192.0.2.7";
  entry.method = "GET";
  entry.target = "/a?b=c";
  entry.status = 200;
  entry.body_bytes = 2326;
  entry.referer = "https://example.test/";
  entry.user_agent = "Agent/1.0 x";
  entry.duration = 1234567ns;
  entry.queued = 89us;
  return entry;
}

std::string combined(const AccessLogEntry& entry) { return AccessLogFormatter(AccessLogFormat::Combined).line(entry); }
std::string json(const AccessLogEntry& entry) { return AccessLogFormatter(AccessLogFormat::Json).line(entry); }

std::string quoted(std::string_view text) {
  std::string out;
  append_quoted_field(out, text);
  return out;
}
std::string in_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(AccessLog, Combined) {
  EXPECT_EQ(combined(sample()),
            R"(192.0.2.7 - - [14/Nov/2023:22:13:20 +0000] "GET /a?b=c HTTP/1.1" 200 2326 "https://example.test/" )"
            R"("Agent/1.0 x")");
}

TEST(AccessLog, Json) {
  EXPECT_EQ(json(sample()),
            R"({"time":"2023-11-14T22:13:20.789Z","remote_addr":"192.0.2.7","method":"GET","target":"/a?b=c",)"
            R"("protocol":"HTTP/1.1","status":200,"bytes":2326,"referer":"https://example.test/",)"
            R"("user_agent":"Agent/1.0 x","duration_ms":1.234,"queued_ms":0.089})");
}

TEST(AccessLog, WhatIsMissingIsADash) {
  AccessLogEntry entry;
  entry.time = std::chrono::system_clock::time_point(0s);
  EXPECT_EQ(combined(entry), R"(- - - [01/Jan/1970:00:00:00 +0000] "-" - - "-" "-")");
  EXPECT_THAT(json(entry), HasSubstr(R"("method":"","target":"")"));
  EXPECT_THAT(json(entry), HasSubstr(R"("status":0)"));
}

TEST(AccessLog, ANewSecondHasANewText) {
  AccessLogFormatter formatter(AccessLogFormat::Combined);
  AccessLogEntry entry = sample();
  EXPECT_THAT(formatter.line(entry), HasSubstr("22:13:20"));
  EXPECT_THAT(formatter.line(entry), HasSubstr("22:13:20"));
  entry.time += 300ms;
  EXPECT_THAT(formatter.line(entry), HasSubstr("22:13:21"));
  entry.time -= 300ms;
  EXPECT_THAT(formatter.line(entry), HasSubstr("22:13:20")) << "also when the clock was set back";
}

TEST(AccessLog, AQuoteCannotEndAField) {
  EXPECT_EQ(quoted(R"(a" 200 "b\)"), R"(a\" 200 \"b\\)");
  EXPECT_EQ(in_json(R"(a","status":500,"x":"\)"), R"(a\",\"status\":500,\"x\":\"\\)");
}

TEST(AccessLog, ControlCharactersCannotBeginALine) {
  EXPECT_EQ(quoted("a\r\nb\x1b[0m\x7f\t"), R"(a\x0d\x0ab\x1b[0m\x7f\x09)");
  EXPECT_EQ(in_json("a\r\nb\x1b\x7f"), "a\\u000d\\u000ab\\u001b\\u007f");
  EXPECT_EQ(in_json(std::string_view("\0", 1)), "\\u0000");
}

TEST(AccessLog, OtherBytesAreNotPassedOnInCombined) { EXPECT_EQ(quoted("\xc3\xa4\xff"), R"(\xc3\xa4\xff)"); }

TEST(AccessLog, JsonKeepsUtf8) {
  EXPECT_EQ(in_json("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"), "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST(AccessLog, JsonEscapesWhatIsNotUtf8) {
  EXPECT_EQ(in_json("\xff"), R"(\\xff)");
  EXPECT_EQ(in_json("\x80"), R"(\\x80)");                    // a tail without a head
  EXPECT_EQ(in_json("\xc3"), R"(\\xc3)");                    // a head at the end
  EXPECT_EQ(in_json("\xc3\""), R"(\\xc3\")");                // a head that would swallow a quote
  EXPECT_EQ(in_json("\xe2\x82"), R"(\\xe2\\x82)");           // cut
  EXPECT_EQ(in_json("\xc0\xaf"), R"(\\xc0\\xaf)");           // overlong
  EXPECT_EQ(in_json("\xe0\x80\xaf"), R"(\\xe0\\x80\\xaf)");  // overlong
  EXPECT_EQ(in_json("\xf0\x80\x80\xaf"), R"(\\xf0\\x80\\x80\\xaf)");
  EXPECT_EQ(in_json("\xed\xa0\x80"), R"(\\xed\\xa0\\x80)");           // a surrogate
  EXPECT_EQ(in_json("\xf4\x90\x80\x80"), R"(\\xf4\\x90\\x80\\x80)");  // beyond U+10FFFF
  EXPECT_EQ(in_json("\xf5\x80\x80\x80"), R"(\\xf5\\x80\\x80\\x80)");
  EXPECT_EQ(in_json("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf");  // the last one
}

TEST(AccessLog, ControlCharactersBeyondAsciiAreEscaped) {
  EXPECT_EQ(in_json("\xc2\x9b"
                    "31m"),
            "\\u009b31m");
  EXPECT_EQ(in_json("\xc2\xa0"), "\xc2\xa0");
}

/// A strict reader of what is inside a JSON string, written against RFC 8259 and not against the code under test.
bool is_json_inside(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == '"') return false;
    if (byte == '\\') {
      ++i;
      if (i >= text.size()) return false;
      if (text[i] == 'u') {
        if (text.substr(i + 1, 4).find_first_not_of("0123456789abcdef") != std::string_view::npos) return false;
        if (text.size() < i + 5) return false;
        i += 4;
      } else if (text[i] != '"' && text[i] != '\\') {
        return false;
      }
    }
  }
  return true;
}

TEST(AccessLog, NoBytesAtAllBreakALine) {
  std::mt19937 random(20260203);
  std::uniform_int_distribution<int> byte(0, 255);
  std::uniform_int_distribution<std::size_t> length(0, 40);
  for (int round = 0; round < 20'000; ++round) {
    std::string hostile(length(random), '\0');
    for (char& c : hostile) c = static_cast<char>(byte(random));
    ASSERT_TRUE(is_json_inside(in_json(hostile))) << in_json(hostile);

    AccessLogEntry entry = sample();
    entry.method = entry.target = entry.referer = entry.user_agent = entry.protocol = entry.peer = hostile;
    const std::string line = combined(entry);
    for (const char c : line) {
      ASSERT_GE(c, 0x20);
      ASSERT_LT(c, 0x7f);
    }
    std::size_t quotes = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\') {
        ++i;
      } else if (line[i] == '"') {
        ++quotes;
      }
    }
    ASSERT_EQ(quotes, 6U) << line;
    const std::string object = json(entry);
    ASSERT_EQ(object.find('\n'), std::string::npos);
  }
}

TEST(AccessLog, NegativeDurationsAreZero) {
  AccessLogEntry entry = sample();
  entry.duration = -1s;
  EXPECT_THAT(json(entry), HasSubstr(R"("duration_ms":0.000)"));
}

}  // namespace
}  // namespace m0::server
