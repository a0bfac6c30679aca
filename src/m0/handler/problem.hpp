#pragma once
// The pages for what goes wrong. They repeat nothing of the request.

#include <string>
#include <string_view>

#include "m0/handler/response.hpp"

namespace m0::handler {

/// A short plain-text page for a status: "404 Not Found" and a newline. Overwrites `response`.
void make_error_page(int status, Response& response);

/// The same as application/problem+json (RFC 9457): `detail` says what this one is about, and may repeat what the
/// developer wrote, never what the client sent.
void make_problem(int status, std::string_view detail, Response& response);

}  // namespace m0::handler
