#pragma once
// One line of a head (RFC 9112 5).

#include <string>
#include <string_view>

namespace m0::http {

/// Appends "name: value" and CRLF, as they are: checked before (is_token, is_field_value). Any thread.
inline void append_field_line(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace m0::http
