#pragma once
// Dates as HTTP writes them.

#include <ctime>
#include <string>

namespace m0::http {

/// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 5.6.7). Any thread.
[[nodiscard]] std::string imf_fixdate(std::time_t when);

}  // namespace m0::http
