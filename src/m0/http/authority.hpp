#pragma once
// uri-host [":" port]: the value of Host (RFC 9110 7.2) and the authority of an absolute-form target.

#include <string_view>

namespace m0::http {

/// Whether `text` is a non-empty uri-host (RFC 3986 3.2.2: a name, an IPv4 address or an IPv6 address in brackets),
/// with or without a port of at most 65535. No userinfo (RFC 9110 4.2.4). Any thread.
[[nodiscard]] bool is_authority(std::string_view text) noexcept;

}  // namespace m0::http
