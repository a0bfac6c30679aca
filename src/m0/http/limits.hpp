#pragma once
// What one peer may cost. Each member is bound once to a flag in cli/options; each refusal has a counter.

#include <cstddef>
#include <cstdint>

namespace m0::http {

struct Limits {
  std::size_t max_line = 8 * 1024;        // bytes of the request line (414) or of one field line (431), without CRLF
  std::size_t max_head = 64 * 1024;       // bytes of a whole head, and of a whole trailer section (431)
  std::size_t max_fields = 100;           // fields in a head (431), and in a trailer section
  std::uint64_t max_body = 128ULL << 20;  // bytes of a body after decoding (413)
};

}  // namespace m0::http
