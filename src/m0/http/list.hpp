#pragma once
// Lists in field values (RFC 9110 section 5.6.1).

#include <string_view>

#include "m0/base/bytes.hpp"

namespace m0::http {

/// Calls `take` with each element of a comma separated list, without whitespace around it; empty ones too, which are
/// the caller's to judge. Not for lists with quoted strings in them. Any thread.
template <class Take>
void each_element(std::string_view list, Take take) {
  for (;;) {
    const std::string_view::size_type comma = list.find(',');
    take(base::trim_ows(list.substr(0, comma)));
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace m0::http
