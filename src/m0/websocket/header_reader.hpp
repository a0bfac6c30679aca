#pragma once
// The header of a client's frame (RFC 6455 section 5.2), in whatever pieces it comes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

#include "m0/websocket/frame.hpp"
#include "m0/websocket/violation.hpp"

namespace m0::websocket {

/// Where a frame stands, which decides what it may be.
struct HeaderRules {
  bool deflate;     // permessage-deflate was agreed on
  bool in_message;  // a message has begun and its last frame was not seen
};

/// Fifteen bytes: a header needs no memory of its own while it is incomplete. Each rule is checked at the byte that
/// decides it, so that a fault has the same name however the bytes were split. One thread at a time.
class HeaderReader {
 public:
  /// Takes bytes up to the end of the header and returns how many those were. To be given the same rules until then.
  [[nodiscard]] std::expected<std::size_t, Violation> feed(std::string_view bytes, HeaderRules rules) noexcept;
  [[nodiscard]] bool complete() const noexcept { return size_ >= 2 && size_ == length_end() + sizeof(Mask); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// The next header begins.
  void reset() noexcept { size_ = 0; }

  // Of a complete header.
  [[nodiscard]] bool fin() const noexcept { return (bytes_[0] & kFin) != 0; }
  [[nodiscard]] bool compressed() const noexcept { return (bytes_[0] & kRsv1) != 0; }
  [[nodiscard]] Opcode opcode() const noexcept { return static_cast<Opcode>(bytes_[0] & kOpcodeBits); }
  [[nodiscard]] std::uint64_t length() const noexcept;
  [[nodiscard]] Mask mask() const noexcept;

 private:
  [[nodiscard]] const char* check_first(HeaderRules rules) const noexcept;
  [[nodiscard]] const char* check_second() const noexcept;
  [[nodiscard]] const char* check_length() const noexcept;
  /// Where the length ends and the mask begins. Needs the second byte.
  [[nodiscard]] std::size_t length_end() const noexcept;

  std::array<std::uint8_t, 14> bytes_{};
  std::uint8_t size_ = 0;
};

static_assert(sizeof(HeaderReader) == 15);

}  // namespace m0::websocket
