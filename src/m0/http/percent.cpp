#include "m0/http/percent.hpp"

#include "m0/base/bytes.hpp"

namespace m0::http {
namespace {

constexpr int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = base::ascii_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// The byte that an escape at `at` stands for; -1 where there is none.
int escaped_byte(std::string_view text, std::size_t at) noexcept {
  if (text[at] != '%' || text.size() - at < 3) return -1;
  const int high = hex_value(text[at + 1]);
  const int low = hex_value(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace

void percent_decode(std::string_view from, std::string& to) {
  to.clear();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const int byte = escaped_byte(from, i);
    to.push_back(byte < 0 ? from[i] : static_cast<char>(byte));
    if (byte >= 0) i += 2;
  }
}

std::size_t encoded_length(std::string_view encoded, std::size_t decoded) noexcept {
  std::size_t at = 0;
  for (; decoded > 0 && at < encoded.size(); --decoded) at += escaped_byte(encoded, at) < 0 ? 1 : 3;
  return at;
}

void percent_encode(std::string_view from, std::string& to) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  to.clear();
  for (const char c : from) {
    const char lower = static_cast<char>(c | 0x20);
    const bool unreserved =
        (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved) {
      to += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    to += '%';
    to += kDigits[byte >> 4U];
    to += kDigits[byte & 15U];
  }
}

}  // namespace m0::http
