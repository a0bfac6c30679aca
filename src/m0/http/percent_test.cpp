#include "m0/http/percent.hpp"

namespace m0::http {
namespace {

std::string decoded(std::string_view text) {
  std::string to = "left over";
  percent_decode(text, to);
  return to;
}

TEST(Percent, DecodesEscapes) {
  EXPECT_EQ(decoded("/a%20b%2Fc%2f"), "/a b/c/");
  EXPECT_EQ(decoded("%E2%82%AC"), "\xE2\x82\xAC");
  EXPECT_EQ(decoded("%00x"), std::string("\0x", 2));
  EXPECT_EQ(decoded(""), "");
}

TEST(Percent, LeavesWhatIsNoEscape) {
  EXPECT_EQ(decoded("%"), "%");
  EXPECT_EQ(decoded("%4"), "%4");
  EXPECT_EQ(decoded("%4g%zz%"), "%4g%zz%");
  EXPECT_EQ(decoded("100%25"), "100%");
}

TEST(Percent, DecodesOnce) { EXPECT_EQ(decoded("%2525"), "%25"); }

TEST(Percent, CountsTheEncodedBytesOfAPrefix) {
  EXPECT_EQ(encoded_length("/shop/x", 5), 5U);
  EXPECT_EQ(encoded_length("/%73hop/x", 5), 7U);
  EXPECT_EQ(encoded_length("/sh%zzop", 5), 5U);
  EXPECT_EQ(encoded_length("/%73%68op", 5), 9U);
  EXPECT_EQ(encoded_length("/s", 5), 2U);
  EXPECT_EQ(encoded_length("/shop", 0), 0U);
}

TEST(PercentEncode, LeavesUnreservedCharacters) {
  std::string encoded;
  percent_encode("AZaz09-._~", encoded);
  EXPECT_EQ(encoded, "AZaz09-._~");
}

TEST(PercentEncode, IsUndoneByDecoding) {
  std::string every;
  for (int c = 0; c < 256; ++c) every += static_cast<char>(c);
  std::string encoded, decoded;
  percent_encode(every, encoded);
  for (const char c : encoded) EXPECT_TRUE(c > ' ' && c < 0x7f && c != ',');
  percent_decode(encoded, decoded);
  EXPECT_EQ(decoded, every);
}

}  // namespace
}  // namespace m0::http
