#pragma once
// The four forms of a request-target (RFC 9112 3.2).

#include <expected>

#include "m0/http/refusal.hpp"
#include "m0/http/request_head.hpp"

namespace m0::http {

/// Splits head.target, whose bytes were checked, into form, path, query and authority as its method allows. Any thread.
[[nodiscard]] std::expected<void, Refusal> split_target(RequestHead& head) noexcept;

}  // namespace m0::http
