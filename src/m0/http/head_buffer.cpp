#include "m0/http/head_buffer.hpp"

#include <algorithm>

namespace m0::http {

HeadBuffer::HeadBuffer(const HeadParser& parser, std::string_view bytes, const RequestHead& head)
    : parser_(parser), bytes_(bytes), head_(head) {}

std::expected<HeadBuffer::Fed, Refusal> HeadBuffer::feed(const Limits& limits, std::string_view bytes) {
  const std::size_t before = bytes_.size();
  // What follows the head is the body's, so only what a head may have is copied.
  bytes = bytes.substr(0, limits.max_head - std::min(before, limits.max_head));
  bytes_.append(bytes);
  const auto size = parser_.parse(limits, bytes_, head_);
  if (!size) return std::unexpected(size.error());
  if (*size == 0) return Fed{bytes.size(), false};
  return Fed{*size - before, true};
}

}  // namespace m0::http
