#pragma once
// The bytes of a head moved: its views follow.

#include <cstddef>

#include "m0/http/request_head.hpp"

namespace m0::http {

/// Every view of `head` into the `size` bytes that were at `from` now points to the same place in `to`. Others (at
/// literals, or null) stay. `from` is compared only, never read.
void rebase(RequestHead& head, const char* from, std::size_t size, const char* to) noexcept;

}  // namespace m0::http
