#pragma once
// UTF-8 (RFC 3629) that comes in pieces.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace m0::websocket {

/// Checks text as it arrives and refuses it at the first byte that no continuation could make valid: no overlong forms,
/// no surrogates, nothing above U+10FFFF. Three bytes of state. One thread at a time.
class Utf8Validator {
 public:
  /// False once the text cannot be valid any more; what follows is not to be fed.
  [[nodiscard]] bool feed(std::string_view bytes) noexcept;
  /// Not inside a character: the text may end here.
  [[nodiscard]] bool complete() const noexcept { return left_ == 0; }

 private:
  [[nodiscard]] bool begin(std::uint8_t byte) noexcept;

  std::uint8_t left_ = 0;  // bytes that the character still needs
  std::uint8_t low_ = 0;   // and between what the next of them must lie
  std::uint8_t high_ = 0;
};

/// All of `text` is whole characters.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// How many bytes at the start of `text` are valid whole characters. For short texts.
[[nodiscard]] std::size_t utf8_prefix(std::string_view text) noexcept;

}  // namespace m0::websocket
