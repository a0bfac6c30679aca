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

TEST(AccessLog, NoBytesAtAllBreakALine) {
  std::mt19937 random(20260203);
  std::uniform_int_distribution<int> byte(0, 255);
  std::uniform_int_distribution<std::size_t> length(0, 40);
  for (int round = 0; round < 20'000; ++round) {
    std::string hostile(length(random), '\0');
    for (char& c : hostile) c = static_cast<char>(byte(random));
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
