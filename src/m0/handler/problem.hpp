#pragma once
// The pages for what goes wrong. They repeat nothing of the request.

#include "m0/handler/response.hpp"

namespace m0::handler {

/// A short plain-text page for a status: "404 Not Found" and a newline. Overwrites `response`.
void make_error_page(int status, Response& response);

}  // namespace m0::handler
