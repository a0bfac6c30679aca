#include "m0/cli/units.hpp"

namespace m0::cli {
namespace {

using namespace std::chrono_literals;

TEST(Units, Durations) {
  EXPECT_EQ(parse_duration("500us"), 500us);
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("30s"), 30s);
  EXPECT_EQ(parse_duration("2m"), 2min);
  EXPECT_EQ(parse_duration("1h"), 1h);
  EXPECT_EQ(parse_duration("1d"), 24h);
  EXPECT_EQ(parse_duration("0"), 0s);
}

TEST(Units, APlainNumberIsSeconds) {
  EXPECT_EQ(parse_duration("30"), 30s);
  EXPECT_EQ(parse_duration("0.25"), 250ms);
}

TEST(Units, UnitsHaveNoCase) {
  EXPECT_EQ(parse_duration("5S"), 5s);
  EXPECT_EQ(parse_duration("5Ms"), 5ms);
  EXPECT_EQ(parse_bytes("1K"), 1024U);
}

TEST(Units, Fractions) {
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("0.5h"), 30min);
  EXPECT_EQ(parse_duration("1.000000001s"), 1s) << "finer than six digits is dropped";
  EXPECT_EQ(parse_bytes("1.5m"), 1536U * 1024U);
  EXPECT_EQ(parse_bytes("0.000001t"), (1ULL << 40U) / 1'000'000U);
}

TEST(Units, WhatIsNotADurationIsSaid) {
  for (const char* text : {"", "s", "-1s", "+1s", " 1s", "1 s", "1s ", "1x", "1ss", "1.s", ".5s", "1..5s", "1e3s",
                           "0x1s", "99999999999999999999s", "1k"}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error(), ::testing::HasSubstr("write 30s, 500ms, 2m or 1h")) << text;
  }
}

TEST(Units, DurationsHaveAnEnd) {
  EXPECT_TRUE(parse_duration("366d"));
  EXPECT_FALSE(parse_duration("367d"));
  EXPECT_FALSE(parse_duration("18446744073709551615s"));
  EXPECT_FALSE(parse_duration("18446744073s"));
}

TEST(Units, Sizes) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("512"), 512U);
  EXPECT_EQ(parse_bytes("64k"), 64U << 10U);
  EXPECT_EQ(parse_bytes("64m"), 64U << 20U);
  EXPECT_EQ(parse_bytes("1g"), 1U << 30U);
  EXPECT_EQ(parse_bytes("2t"), 2ULL << 40U);
}

TEST(Units, SizesMaySayBytes) {
  for (const char* text : {"64k", "64kb", "64KB", "64KiB", "64kib"}) EXPECT_EQ(parse_bytes(text), 65536U) << text;
  EXPECT_EQ(parse_bytes("10b"), 10U);
}

TEST(Units, WhatIsNotASizeIsSaid) {
  for (const char* text : {"", "k", "kb", "b", "-1", "+1", "1kk", "1ib", "1 k", "1mm", "1s", "1.k", "0x10",
                           "18446744073709551616", "99999999999t", "5000000t"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(Units, Counts) {
  EXPECT_EQ(parse_count("0"), 0U);
  EXPECT_EQ(parse_count("18446744073709551615"), 18446744073709551615ULL);
  for (const char* text : {"", "-1", "+1", "1.0", "1k", "1 ", "one", "18446744073709551616"}) {
    const auto parsed = parse_count(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error(), ::testing::HasSubstr("is not a whole number"));
  }
}

TEST(Units, Switches) {
  for (const char* text : {"1", "true", "YES", "On"}) EXPECT_EQ(parse_switch(text), true) << text;
  for (const char* text : {"0", "false", "No", "OFF"}) EXPECT_EQ(parse_switch(text), false) << text;
  for (const char* text : {"", "2", "y", "truee"}) EXPECT_FALSE(parse_switch(text)) << text;
}

TEST(Units, FormatsInTheLargestUnitThatIsExact) {
  EXPECT_EQ(format_duration(500ms), "500ms");
  EXPECT_EQ(format_duration(90s), "90s");
  EXPECT_EQ(format_duration(120s), "2m");
  EXPECT_EQ(format_duration(24h), "1d");
  EXPECT_EQ(format_duration(1500us), "1500us");
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_bytes(65536), "64k");
  EXPECT_EQ(format_bytes(1000), "1000");
  EXPECT_EQ(format_bytes(0), "0");
  EXPECT_EQ(format_bytes(8ULL << 30U), "8g");
}

TEST(Units, WhatIsFormattedParsesToTheSame) {
  for (std::uint64_t n = 1; n < 1ULL << 50U; n = n * 3 + 1) {
    EXPECT_EQ(parse_bytes(format_bytes(n)), n);
    EXPECT_EQ(parse_bytes(format_bytes(n << 10U)), n << 10U);
  }
  for (std::int64_t us = 1; us < 10'000'000'000; us = us * 3 + 1) {
    const base::Duration duration = std::chrono::microseconds(us);
    EXPECT_EQ(parse_duration(format_duration(duration)), duration);
  }
}

}  // namespace
}  // namespace m0::cli
