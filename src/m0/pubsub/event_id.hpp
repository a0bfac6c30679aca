#pragma once
// The name of an event on the wire: "<epoch>-<seq>". The epoch names the life of a log, the sequence number counts its
// records from 1; neither says where a record lies.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace m0::pubsub {

/// Also a cursor: "everything up to and with `seq`". 0 is before the first.
struct EventId {
  std::uint64_t epoch = 0;  // 48 bits
  std::uint64_t seq = 0;
  friend bool operator==(const EventId&, const EventId&) = default;
};

/// What a client says when it comes back.
struct ParsedId {
  EventId id;
  bool end = false;  // the id ended in "-end": the client was told not to come back
};

/// 12 hexadecimal digits, '-', decimal digits.
void append_id(std::string& out, const EventId& id);
[[nodiscard]] std::string to_text(const EventId& id);
/// The id of the last block of a stream whose client is not to come back.
void append_end_id(std::string& out, const EventId& id);

/// Nothing for what append_id() and append_end_id() cannot have written.
[[nodiscard]] std::optional<ParsedId> parse_id(std::string_view text) noexcept;

}  // namespace m0::pubsub
