#pragma once
// The name of one held connection, known before it is held: "<worker>-<serial>".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace m0::pubsub {

/// Never given twice while a log lives: the worker's number is drawn at random when it starts.
struct ConnectionId {
  std::uint32_t worker = 0;
  std::uint64_t serial = 0;  // 0: none
  friend bool operator==(const ConnectionId&, const ConnectionId&) = default;
};

/// 8 hexadecimal digits, '-', hexadecimal digits.
[[nodiscard]] std::string to_text(const ConnectionId& id);
/// Nothing for what to_text() cannot have written.
[[nodiscard]] std::optional<ConnectionId> parse_connection_id(std::string_view text) noexcept;

}  // namespace m0::pubsub
