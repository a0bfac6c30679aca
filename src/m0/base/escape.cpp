#include "m0/base/escape.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace m0::base {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

enum class Byte : std::uint8_t { Plain, Escape, Control, High };

constexpr std::array<Byte, 256> kBytes = [] {
  std::array<Byte, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (i < 0x20 || i == 0x7f) {
      table[i] = Byte::Control;
    } else if (i == '"' || i == '\\') {
      table[i] = Byte::Escape;
    } else if (i >= 0x80) {
      table[i] = Byte::High;
    }
  }
  return table;
}();

Byte kind_of(char c) noexcept { return kBytes[static_cast<unsigned char>(c)]; }

void append_hex(std::string& out, std::string_view before, unsigned char byte) {
  out += before;
  out += kHex[byte >> 4U];
  out += kHex[byte & 15U];
}

/// Runs of plain bytes go over in one piece; special(position) handles one place and returns how many bytes it took.
template <class Special>
void append_runs(std::string& out, std::string_view text, Special special) {
  std::size_t run = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (kind_of(text[i]) == Byte::Plain) {
      ++i;
      continue;
    }
    out.append(text, run, i - run);
    i += special(i);
    run = i;
  }
  out.append(text, run, text.size() - run);
}

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) -> unsigned { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xc0U) == 0x80U; };
  const unsigned first = at(0);
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && at(1) < 0xa0;
    const bool surrogate = first == 0xed && at(1) > 0x9f;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && at(1) < 0x90;
    const bool beyond = first == 0xf4 && at(1) > 0x8f;
    return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

void append_quoted_field(std::string& out, std::string_view text) {
  append_runs(out, text, [&](std::size_t i) -> std::size_t {
    if (kind_of(text[i]) == Byte::Escape) {
      out += '\\';
      out += text[i];
    } else {
      append_hex(out, "\\x", static_cast<unsigned char>(text[i]));
    }
    return 1;
  });
}

void append_json_string(std::string& out, std::string_view text) {
  append_runs(out, text, [&](std::size_t i) -> std::size_t {
    const auto byte = static_cast<unsigned char>(text[i]);
    switch (kind_of(text[i])) {
      case Byte::Plain: break;
      case Byte::Escape:
        out += '\\';
        out += text[i];
        return 1;
      case Byte::Control: append_hex(out, "\\u00", byte); return 1;
      case Byte::High: {
        const std::size_t length = utf8_length(text.substr(i));
        if (length == 0) {
          append_hex(out, "\\\\x", byte);
          return 1;
        }
        // U+0080 to U+009F are control characters too, and some terminals obey them.
        if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
          append_hex(out, "\\u00", static_cast<unsigned char>(text[i + 1]));
        } else {
          out.append(text, i, length);
        }
        return length;
      }
    }
    return 1;
  });
}

}  // namespace m0::base
