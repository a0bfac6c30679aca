#include "m0/websocket/utf8.hpp"

#include <random>

#include "m0/base/escape.hpp"

namespace m0::websocket {
namespace {

using namespace std::string_literals;

/// At which byte a text is refused, fed byte by byte; its size where it never is.
std::size_t refused_at(std::string_view text) {
  Utf8Validator validator;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!validator.feed(text.substr(i, 1))) return i;
  }
  return text.size();
}

bool slowly_valid(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = static_cast<unsigned char>(text.front()) < 0x80 ? 1 : base::utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

const std::vector<std::string> kValid = {
    "",
    "a",
    "\0"s,
    "\x7f",
    "\xc2\x80",
    "\xdf\xbf",
    "\xe0\xa0\x80",
    "\xed\x9f\xbf",
    "\xee\x80\x80",
    "\xef\xbf\xbf",
    "\xf0\x90\x80\x80",
    "\xf4\x8f\xbf\xbf",
    "\xef\xbb\xbf",                  // a byte order mark is a character
    "\xef\xbf\xbe",                  // and so is a noncharacter
    "\xce\xba\xe1\xbd\xb9\xcf\x83",  // Greek
    "0123456789abcdef\xc3\xa4 0123456789abcdef",
};

TEST(Utf8, AcceptsWholeCharacters) {
  for (const std::string& text : kValid) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(refused_at(text), text.size()) << text;
    EXPECT_EQ(utf8_prefix(text), text.size()) << text;
  }
}

struct Bad {
  std::string text;
  std::size_t at;
};

const std::vector<Bad> kBad = {
    {"\x80", 0},                              // a tail alone
    {"\xbf", 0},                              //
    {"\xc0\x80", 0},                          // overlong forms of two bytes begin with bytes that nothing begins with
    {"\xc1\xbf", 0},                          //
    {"\xe0\x9f\xbf", 1},                      // overlong, three bytes
    {"\xf0\x8f\xbf\xbf", 1},                  // overlong, four bytes
    {"\xed\xa0\x80", 1},                      // first surrogate
    {"\xed\xbf\xbf", 1},                      // last surrogate
    {"\xf4\x90\x80\x80", 1},                  // U+110000
    {"\xf5\x80\x80\x80", 0},                  //
    {"\xf8\x88\x80\x80\x80", 0},              // five bytes
    {"\xfc\x84\x80\x80\x80\x80", 0},          // six bytes
    {"\xfe", 0},                              //
    {"\xff", 0},                              //
    {"a\xc3(", 2},                            // a head without its tail
    {"\xe2\x82(", 2},                         //
    {"\xf0\x9f\x98(", 3},                     //
    {"\xc3\xc3\xa4", 1},                      // a head behind a head
    {"\xc3\xa4\xa4", 2},                      // a tail too many
    {"0123456789abcdef\xff", 16},             // behind words of ASCII
    {"\xce\xba\xe1\xbd\xb9\xed\xa0\x80", 6},  //
};

TEST(Utf8, RefusesAtTheFirstByteThatCannotBecomeValid) {
  for (const Bad& bad : kBad) {
    EXPECT_FALSE(is_utf8(bad.text)) << ::testing::PrintToString(bad.text);
    EXPECT_EQ(refused_at(bad.text), bad.at) << ::testing::PrintToString(bad.text);
  }
}

TEST(Utf8, KnowsWhereATextMayEnd) {
  const std::string text = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";
  const std::string ends = "1101001000";
  Utf8Validator validator;
  std::string seen(1, validator.complete() ? '1' : '0');
  for (const char& c : text) {
    ASSERT_TRUE(validator.feed({&c, 1}));
    seen += validator.complete() ? '1' : '0';
  }
  EXPECT_EQ(seen, ends + "1");
  EXPECT_FALSE(is_utf8(text.substr(0, text.size() - 1)));
}

TEST(Utf8, PrefixOfWholeCharacters) {
  EXPECT_EQ(utf8_prefix("ab\xc3"), 2U);
  EXPECT_EQ(utf8_prefix("ab\xf0\x9f\x98"), 2U);
  EXPECT_EQ(utf8_prefix("ab\xff zz"), 2U);
  EXPECT_EQ(utf8_prefix("\x80"), 0U);
  EXPECT_EQ(utf8_prefix("ab\xc3\xa4\xc3"), 4U);
}

TEST(Utf8, EverySequenceOfTwoBytes) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      ASSERT_EQ(is_utf8(text), slowly_valid(text)) << first << ' ' << second;
    }
  }
}

// Against the decoder that reads whole characters, whole and in two pieces.
TEST(Utf8, AgreesWithASlowDecoder) {
  std::mt19937 random(1);  // NOLINT: the same texts each time
  const std::vector<std::string> parts = {"a",        "01234567",     "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                          "\xed\xa0", "\xf4\x90\x80", "\xe0\x80", "\x80",         "\xc3"};
  int valid = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (unsigned i = 0; i < 1 + random() % 8; ++i) text += parts[random() % (random() % 4 == 0 ? parts.size() : 5)];
    const bool expected = slowly_valid(text);
    valid += expected ? 1 : 0;
    ASSERT_EQ(is_utf8(text), expected) << ::testing::PrintToString(text);
    Utf8Validator validator;
    const std::size_t cut = random() % (text.size() + 1);
    ASSERT_EQ(validator.feed(std::string_view(text).substr(0, cut)) &&
                  validator.feed(std::string_view(text).substr(cut)) && validator.complete(),
              expected);
  }
  EXPECT_GT(valid, 2000);
  EXPECT_LT(valid, 18000);
}

}  // namespace
}  // namespace m0::websocket
