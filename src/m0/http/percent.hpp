#pragma once
// Percent-encoding (RFC 3986 2.1).

#include <cstddef>
#include <string>
#include <string_view>

namespace m0::http {

/// Overwrites `to` with `from`, decoded. A "%" that no two hexadecimal digits follow stays as it is.
void percent_decode(std::string_view from, std::string& to);

/// Overwrites `to` with `from`, of which only unreserved characters (RFC 3986 2.3) stay as they are.
void percent_encode(std::string_view from, std::string& to);

/// How many bytes at the start of `encoded` stand for the first `decoded` bytes of what it decodes to.
[[nodiscard]] std::size_t encoded_length(std::string_view encoded, std::size_t decoded) noexcept;

}  // namespace m0::http
