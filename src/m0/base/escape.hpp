#pragma once
// Bytes that somebody else chose, inside quotes. Any thread.

#include <cstddef>
#include <string>
#include <string_view>

namespace m0::base {

/// How many bytes the UTF-8 character at the start of `text` has (RFC 3629: shortest form, no surrogates, up to
/// U+10FFFF); 0 where there is none. Only for a first byte of 0x80 and above.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

/// Appends `text` for a field in double quotes: '"' and '\' behind a '\', everything that is not printable ASCII as
/// \xHH.
void append_quoted_field(std::string& out, std::string_view text);

/// Appends `text` as the inside of a JSON string (RFC 8259 7). UTF-8 stays; a byte that is not part of any is written
/// as the four characters \xHH, control characters as \u00HH.
void append_json_string(std::string& out, std::string_view text);

}  // namespace m0::base
