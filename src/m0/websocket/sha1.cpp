#include "m0/websocket/sha1.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace m0::websocket {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kLength = 8;  // the message's length in bits, at the end of the last block

using State = std::array<std::uint32_t, 5>;

constexpr std::uint32_t load_word(const char* at) noexcept {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8U | static_cast<std::uint8_t>(at[i]);
  return word;
}

/// RFC 3174 5: f(t; B, C, D) + K(t).
constexpr std::uint32_t round_term(std::size_t t, std::uint32_t b, std::uint32_t c, std::uint32_t d) noexcept {
  if (t < 20) return ((b & c) | (~b & d)) + 0x5a827999U;
  if (t < 40) return (b ^ c ^ d) + 0x6ed9eba1U;
  if (t < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcU;
  return (b ^ c ^ d) + 0xca62c1d6U;
}

/// RFC 3174 6.1.
void add_block(State& state, const char* block) noexcept {
  std::array<std::uint32_t, 80> words;
  for (std::size_t t = 0; t < 16; ++t) words[t] = load_word(block + 4 * t);
  for (std::size_t t = 16; t < words.size(); ++t) {
    words[t] = std::rotl(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], 1);
  }
  auto [a, b, c, d, e] = state;
  for (std::size_t t = 0; t < words.size(); ++t) {
    const std::uint32_t next = std::rotl(a, 5) + round_term(t, b, c, d) + e + words[t];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

Sha1Digest sha1(std::string_view message) noexcept {
  State state{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
  const std::uint64_t bits = std::uint64_t{message.size()} * 8;
  for (; message.size() >= kBlock; message.remove_prefix(kBlock)) add_block(state, message.data());

  // RFC 3174 4: a one, zeros, and the length at the end of this block or, where it does not fit, of the next.
  std::array<char, 2 * kBlock> last{};
  std::copy(message.begin(), message.end(), last.begin());
  last[message.size()] = static_cast<char>(0x80);
  const std::size_t size = message.size() + 1 + kLength <= kBlock ? kBlock : 2 * kBlock;
  for (std::size_t i = 0; i < kLength; ++i) last[size - 1 - i] = static_cast<char>(bits >> (8 * i) & 0xffU);
  for (std::size_t at = 0; at < size; at += kBlock) add_block(state, last.data() + at);

  Sha1Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)) & 0xffU);
  }
  return digest;
}

}  // namespace m0::websocket
