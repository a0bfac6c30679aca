#include "m0/base/escape.hpp"

#include <random>

namespace m0::base {
namespace {

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

TEST(Escape, AQuoteCannotEndAField) {
  EXPECT_EQ(quoted(R"(a" 200 "b\)"), R"(a\" 200 \"b\\)");
  EXPECT_EQ(in_json(R"(a","status":500,"x":"\)"), R"(a\",\"status\":500,\"x\":\"\\)");
}

TEST(Escape, ControlCharactersCannotBeginALine) {
  EXPECT_EQ(quoted("a\r\nb\x1b[0m\x7f\t"), R"(a\x0d\x0ab\x1b[0m\x7f\x09)");
  EXPECT_EQ(in_json("a\r\nb\x1b\x7f"), "a\\u000d\\u000ab\\u001b\\u007f");
  EXPECT_EQ(in_json(std::string_view("\0", 1)), "\\u0000");
}

TEST(Escape, OtherBytesAreNotPassedOnInAField) { EXPECT_EQ(quoted("\xc3\xa4\xff"), R"(\xc3\xa4\xff)"); }

TEST(Escape, JsonKeepsUtf8) {
  EXPECT_EQ(in_json("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"), "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST(Escape, JsonEscapesWhatIsNotUtf8) {
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

TEST(Escape, ControlCharactersBeyondAsciiAreEscaped) {
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

TEST(Escape, NoBytesAtAllEndAJsonString) {
  std::mt19937 random(20260203);
  std::uniform_int_distribution<int> byte(0, 255);
  std::uniform_int_distribution<std::size_t> length(0, 40);
  for (int round = 0; round < 20'000; ++round) {
    std::string hostile(length(random), '\0');
    for (char& c : hostile) c = static_cast<char>(byte(random));
    ASSERT_TRUE(is_json_inside(in_json(hostile))) << in_json(hostile);
  }
}

}  // namespace
}  // namespace m0::base
