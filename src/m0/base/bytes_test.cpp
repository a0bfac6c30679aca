#include "m0/base/bytes.hpp"

#include <cstdint>
#include <limits>

namespace m0::base {
namespace {

TEST(Bytes, LowersAsciiLettersAndNothingElse) {
  for (int c = 0; c < 256; ++c) {
    const char byte = static_cast<char>(c);
    const char expected = (c >= 'A' && c <= 'Z') ? static_cast<char>(c + 32) : byte;
    EXPECT_EQ(ascii_lower(byte), expected) << c;
  }
}

TEST(Bytes, ComparesWithoutCase) {
  EXPECT_TRUE(iequals("Content-Length", "cONTENT-lENGTH"));
  EXPECT_TRUE(iequals("", ""));
  EXPECT_FALSE(iequals("Content-Length", "Content-Lengt"));
  EXPECT_FALSE(iequals("Content-Lengt", "Content-Length"));
  EXPECT_FALSE(iequals("", "a"));
  EXPECT_FALSE(iequals("a", "b"));
}

TEST(Bytes, CaseOfOtherBytesCounts) {
  EXPECT_FALSE(iequals("@", "`"));  // 0x40 and 0x60 differ by the bit of case
  EXPECT_FALSE(iequals("[", "{"));
  EXPECT_FALSE(iequals("\xc4", "\xe4"));  // latin-1 letters are not ours to fold
}

TEST(Bytes, TrimsSpacesAndTabsOnly) {
  EXPECT_EQ(trim_ows(" \t a b\t "), "a b");
  EXPECT_EQ(trim_ows("\ra\n"), "\ra\n");
  EXPECT_EQ(trim_ows(" \t"), "");
  EXPECT_EQ(trim_ows(""), "");
}

TEST(Bytes, AppendsDecimals) {
  std::string out = "n=";
  append_decimal(out, 0);
  out += ',';
  append_decimal(out, 1234567890);
  out += ',';
  append_decimal(out, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(out, "n=0,1234567890,18446744073709551615");
}

TEST(Bytes, FreeRoomGivesTheMemoryBack) {
  std::string text(100'000, 'x');
  free_room(text);
  EXPECT_TRUE(text.empty());
  EXPECT_LT(text.capacity(), 100U);
}

}  // namespace
}  // namespace m0::base
