#include "m0/websocket/base64.hpp"

#include <algorithm>

namespace m0::websocket {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

void append_base64(std::string& out, std::span<const std::uint8_t> bytes) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(3, bytes.size()))) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) group = group << 8U | (i < bytes.size() ? bytes[i] : 0U);
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= bytes.size() ? kAlphabet[group >> (18 - 6 * i) & 63U] : '=';
    }
  }
}

std::optional<std::size_t> base64_size(std::string_view text) noexcept {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::size_t digit = 0;
  for (const char c : text) {
    digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
  }
  // The last character holds four bits too many before "==", two before "=".
  if ((digit & ((1U << (2 * padding)) - 1U)) != 0) return std::nullopt;
  return text.size() * 3 / 4;
}

}  // namespace m0::websocket
