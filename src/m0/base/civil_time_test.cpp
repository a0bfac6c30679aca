#include "m0/base/civil_time.hpp"

#include <cstdint>
#include <ctime>

namespace m0::base {
namespace {

std::string iso(std::int64_t seconds) {
  std::string out;
  append_iso_seconds(out, seconds);
  return out;
}

std::string iso_ms(std::int64_t ms) {
  std::string out;
  append_iso_milliseconds(out, std::chrono::system_clock::time_point(std::chrono::milliseconds(ms)));
  return out;
}

TEST(CivilTime, AgreesWithLibcOverCenturies) {
  // A step that is a multiple of nothing, so that all months, days and hours are met.
  for (std::int64_t at = -2'000'000'000; at < 6'000'000'000; at += 7'654'321) {
    const auto seconds = static_cast<std::time_t>(at);
    std::tm expected{};
    ASSERT_NE(::gmtime_r(&seconds, &expected), nullptr);
    const CivilTime got = to_civil(at);
    ASSERT_EQ(got.year, expected.tm_year + 1900) << at;
    ASSERT_EQ(got.month, static_cast<unsigned>(expected.tm_mon + 1)) << at;
    ASSERT_EQ(got.day, static_cast<unsigned>(expected.tm_mday)) << at;
    ASSERT_EQ(got.hour, static_cast<unsigned>(expected.tm_hour)) << at;
    ASSERT_EQ(got.minute, static_cast<unsigned>(expected.tm_min)) << at;
    ASSERT_EQ(got.second, static_cast<unsigned>(expected.tm_sec)) << at;
  }
}

TEST(CivilTime, WritesLeapDays) {
  EXPECT_EQ(iso(951'782'400), "2000-02-29T00:00:00");
  EXPECT_EQ(iso(4'107'542'399), "2100-02-28T23:59:59");
  EXPECT_EQ(iso(4'107'542'400), "2100-03-01T00:00:00");
}

TEST(CivilTime, WritesMillisecondsWithZeros) {
  EXPECT_EQ(iso_ms(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso_ms(1'700'000'000'007), "2023-11-14T22:13:20.007Z");
}

TEST(CivilTime, BeforeTheEpochMillisecondsStillRunForward) { EXPECT_EQ(iso_ms(-1), "1969-12-31T23:59:59.999Z"); }

TEST(CivilTime, PadsToTheWidthAsked) {
  std::string out;
  append_padded(out, 7, 1);
  append_padded(out, 7, 3);
  append_padded(out, 1234, 4);
  EXPECT_EQ(out, "70071234");
}

}  // namespace
}  // namespace m0::base
