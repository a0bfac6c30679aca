#pragma once
// Who may open a WebSocket: browsers send cookies along wherever a page comes from, and say where it came from.

#include <span>
#include <string>
#include <string_view>

#include "m0/handler/exchange.hpp"

namespace m0::held {

/// Whether Origin (RFC 6454) is the request's own scheme and authority, or one of `allowed`. A request without Origin
/// comes from no browser, and passes. Of a peer on this machine (a proxy) X-Forwarded-Proto and X-Forwarded-Host are
/// believed. Any thread.
[[nodiscard]] bool origin_passes(const handler::Exchange& request, std::span<const std::string> allowed);

}  // namespace m0::held
