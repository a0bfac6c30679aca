#pragma once
// How far a run of allowed bytes reaches: the innermost loops of the parser. Any thread.

#include <array>
#include <cstddef>
#include <cstdint>

namespace m0::http {

namespace detail {

consteval std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (const char c : {'!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~'}) {
    table[static_cast<std::uint8_t>(c)] = true;
  }
  return table;
}

inline constexpr std::array<bool, 256> kTokenTable = make_token_table();

}  // namespace detail

/// RFC 9110 5.6.2: tchar.
[[nodiscard]] constexpr bool is_token_char(char c) noexcept {
  return detail::kTokenTable[static_cast<std::uint8_t>(c)];
}

/// RFC 9110 5.5: field-vchar, SP and HTAB; that is everything but the other controls and DEL.
[[nodiscard]] constexpr bool is_value_char(char c) noexcept {
  const auto byte = static_cast<std::uint8_t>(c);
  return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

/// What a request-target may hold: no whitespace, controls, DEL or "#" (RFC 9112 3.2 has no fragment). Wider than
/// RFC 3986, because browsers send some bytes raw that it wants encoded.
[[nodiscard]] constexpr bool is_target_char(char c) noexcept {
  const auto byte = static_cast<std::uint8_t>(c);
  return byte > 0x20 && byte != 0x7f && byte != '#';
}

/// The first byte in [at, end) that is not of its kind, or `end`. Tokens are short: one look-up a byte. Values and
/// targets go sixteen bytes at a time where SSE2 exists.
[[nodiscard]] const char* scan_token(const char* at, const char* end) noexcept;
[[nodiscard]] const char* scan_value(const char* at, const char* end) noexcept;
[[nodiscard]] const char* scan_target(const char* at, const char* end) noexcept;

/// The same, one byte at a time: what the wide ones are tested against, and their fallback.
[[nodiscard]] const char* scan_value_scalar(const char* at, const char* end) noexcept;
[[nodiscard]] const char* scan_target_scalar(const char* at, const char* end) noexcept;

}  // namespace m0::http
