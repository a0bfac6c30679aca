#include "m0/http/authority.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace m0::http {
namespace {

// RFC 3986: unreserved and sub-delims.
consteval std::array<bool, 256> make_name_table() {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (const char c : {'-', '.', '_', '~', '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '='}) {
    table[static_cast<std::uint8_t>(c)] = true;
  }
  return table;
}

constexpr std::array<bool, 256> kNameTable = make_name_table();

constexpr bool is_hex(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_registered_name(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kNameTable[static_cast<std::uint8_t>(text[i])]) continue;
    if (text[i] != '%' || text.size() - i < 3 || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) return false;
    i += 2;
  }
  return !text.empty();
}

bool is_ipv6(std::string_view text) noexcept {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size()) return false;
  std::ranges::copy(text, terminated.begin());
  in6_addr address{};
  return text.find('\0') == std::string_view::npos && ::inet_pton(AF_INET6, terminated.data(), &address) == 1;
}

// RFC 3986 3.2.3: *DIGIT, so an empty one is allowed.
bool is_port(std::string_view text) noexcept {
  std::uint32_t port = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    port = port * 10 + static_cast<std::uint32_t>(c - '0');
    if (port > 65535) return false;
  }
  return true;
}

}  // namespace

bool is_authority(std::string_view text) noexcept {
  if (!text.starts_with('[')) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return is_registered_name(text);
    return is_registered_name(text.substr(0, colon)) && is_port(text.substr(colon + 1));
  }
  const std::size_t close = text.find(']');
  if (close == std::string_view::npos || !is_ipv6(text.substr(1, close - 1))) return false;
  text.remove_prefix(close + 1);
  return text.empty() || (text.front() == ':' && is_port(text.substr(1)));
}

}  // namespace m0::http
