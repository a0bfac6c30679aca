#include "m0/websocket/sha1.hpp"

#include <algorithm>

namespace m0::websocket {
namespace {

std::string hex(const Sha1Digest& digest) {
  std::string out;
  for (const std::uint8_t byte : digest) {
    out += "0123456789abcdef"[byte >> 4U];
    out += "0123456789abcdef"[byte & 15U];
  }
  return out;
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// RFC 3174 7.3.
TEST(Sha1, TestVectors) {
  EXPECT_EQ(hex(sha1("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(hex(sha1(repeated("a", 1000000))), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  EXPECT_EQ(hex(sha1(repeated("0123456701234567012345670123456701234567012345670123456701234567", 10))),
            "dea356a2cddd90c7a7ecedc5ebb563934f460452");
}

TEST(Sha1, Empty) { EXPECT_EQ(hex(sha1("")), "da39a3ee5e6b4b0d3255bfef95601890afd80709"); }

// 55 bytes are the most that leave room for the length in the same block; all around it, and around a whole block, the
// padding changes. Each length once, so that two that give the same would be seen.
TEST(Sha1, EveryLengthAroundABlockIsPaddedApart) {
  std::vector<std::string> seen;
  for (int length = 0; length <= 130; ++length) seen.push_back(hex(sha1(repeated("\x80", length))));
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

TEST(Sha1, LengthsWhosePaddingNeedsAnotherBlock) {
  EXPECT_EQ(hex(sha1(repeated("a", 55))), "c1c8bbdc22796e28c0e15163d20899b65621d65a");
  EXPECT_EQ(hex(sha1(repeated("a", 56))), "c2db330f6083854c99d4b5bfb6e8f29f201be699");
  EXPECT_EQ(hex(sha1(repeated("a", 64))), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}

}  // namespace
}  // namespace m0::websocket
