#pragma once
// Growth with an end that is known.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace m0::websocket {

/// Appends and, where room is missing, doubles it, but to no more than the `most` bytes that the text can ever have:
/// std::string alone would take up to twice that (and so would its reserve(), which is why a new one is made).
inline void append_bounded(std::string& to, std::string_view bytes, std::size_t most) {
  const std::size_t needed = to.size() + bytes.size();
  if (needed > to.capacity()) {
    std::string grown;
    grown.reserve(std::max(needed, std::min(2 * to.capacity(), most)));
    grown.append(to);
    to.swap(grown);
  }
  to.append(bytes);
}

}  // namespace m0::websocket
