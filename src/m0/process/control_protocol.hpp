#pragma once
// What is spoken on the control socket, as bytes alone. A message is the length of all that follows, then fields, each
// its own length and its bytes; lengths are four bytes, the most significant first. The first field of a request is its
// verb, the first of an answer "ok" or "error"; what follows is text.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace m0::process {

using ControlFields = std::vector<std::string>;

/// More than any verb has.
inline constexpr std::size_t kMostControlFields = 16;

enum class FramingError : std::uint8_t {
  TooLarge,   // its length says so: it is not waited for
  Malformed,  // the lengths do not agree, or there are no fields or too many
};
[[nodiscard]] std::string_view describe(FramingError error) noexcept;

/// Pieces in, whole messages out. One thread.
class MessageReader {
 public:
  /// `largest`: of what follows the first length.
  explicit MessageReader(std::size_t largest) noexcept : largest_(largest) {}

  void feed(std::string_view bytes);
  /// Nothing: the rest has yet to come. After an error there is no telling where the next one would begin.
  [[nodiscard]] std::expected<std::optional<ControlFields>, FramingError> next();

 private:
  [[nodiscard]] std::string_view unread() const noexcept { return std::string_view(bytes_).substr(taken_); }

  std::size_t largest_;
  std::string bytes_;
  std::size_t taken_ = 0;
};

[[nodiscard]] std::string encode_message(std::span<const std::string_view> fields);

}  // namespace m0::process
