#pragma once
// What servers tell each other on the log: control records, which no client can subscribe to. The record's channel says
// whom it is about, its name what is to be done, its data the rest.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "m0/pubsub/event.hpp"
#include "m0/pubsub/record.hpp"

namespace m0::pubsub {

enum class Verb : std::uint8_t {
  Send,             // the data goes to one connection; `binary` counts
  CloseConnection,  // a Farewell
  CloseChannel,     // a Farewell to everybody who has the channel
  AskPresence,      // see presence.hpp
  TellPresence,
};

/// How a held client is told to leave.
struct Farewell {
  bool reconnect = false;  // it comes back by itself; of a WebSocket the code says so
  std::uint16_t code = 0;  // of a WebSocket's close frame; 0: 1012 for one that is to come back, else 1000
  std::string_view reason = {};
  friend bool operator==(const Farewell&, const Farewell&) = default;
};

/// The name of its records.
[[nodiscard]] std::string_view name_of(Verb verb) noexcept;
/// Nothing: this version knows no such verb.
[[nodiscard]] std::optional<Verb> verb_of(const Record& record) noexcept;

/// A Farewell as a record's data, and back: a view of it. Nothing for what is none.
[[nodiscard]] std::string to_data(const Farewell& farewell);
[[nodiscard]] std::optional<Farewell> read_farewell(std::string_view data) noexcept;

/// A record of that verb about `whom`.
[[nodiscard]] inline NewEvent control_event(Verb verb, std::string_view whom, std::string_view data,
                                            bool binary = false) noexcept {
  return {.channel = whom, .data = data, .name = name_of(verb), .binary = binary, .control = true};
}

}  // namespace m0::pubsub
