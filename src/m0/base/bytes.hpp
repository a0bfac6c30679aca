#pragma once
// Small operations on bytes that protocols share. ASCII only: a locale never changes what a request means.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace m0::base {

[[nodiscard]] constexpr char ascii_lower(char c) noexcept {
  return (c >= 'A' && c <= 'Z') ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// Equal but for the case of ASCII letters.
[[nodiscard]] constexpr bool iequals(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (ascii_lower(a[i]) != ascii_lower(b[i])) return false;
  }
  return true;
}

/// Without optional whitespace (SP, HTAB: RFC 9110 5.6.3) at both ends.
[[nodiscard]] constexpr std::string_view trim_ows(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Empties a string and gives its memory back, which clear() does not, nor an assignment of an empty one.
inline void free_room(std::string& text) noexcept { std::string().swap(text); }

/// Appends a decimal number.
inline void append_decimal(std::string& out, std::uint64_t value) {
  char digits[20];
  char* at = digits + sizeof digits;
  do {
    *--at = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  out.append(at, static_cast<std::size_t>(digits + sizeof digits - at));
}

}  // namespace m0::base
