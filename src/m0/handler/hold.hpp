#pragma once
// What an answer asks for that wants its connection held.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "m0/base/clock.hpp"
#include "m0/http/headers.hpp"
#include "m0/pubsub/event_id.hpp"

namespace m0::handler {

/// The response fields of the contract, read. A member says which field it was.
struct Hold {
  enum class Kind : std::uint8_t { Stream, WebSocket };

  Kind kind = Kind::Stream;                   // M0-Hold
  std::vector<std::string> channels = {};     // M0-Channel: 1 to kMaxChannels, each once
  std::size_t replay = 0;                     // M0-Replay: on a first visit, so many of the newest events
  std::optional<pubsub::EventId> since = {};  // M0-Since: nothing up to here is for this client
  base::Duration keep_alive{};                // M0-Keep-Alive; zero: the server's
  base::Duration timeout{};                   // M0-Hold-Timeout; zero: none
  bool json = false;                          // M0-Frames: json
  bool any_origin = false;                    // M0-Origin: any
  bool wants_open = false;                    // M0-Events
  bool wants_close = false;
  std::string metadata = {};  // M0-Meta-*: lines "M0-Meta-Name: value\r\n", as they are given back
  friend bool operator==(const Hold&, const Hold&) = default;
};

inline constexpr std::size_t kMaxChannels = 128;
/// Bytes of a hold's metadata: it is kept as long as the connection, and goes with each of its messages.
inline constexpr std::size_t kMaxMetadata = 1024;

/// Whether a field's name is one of those that are the server's own: "M0-", whatever its case.
[[nodiscard]] constexpr bool is_own_field(std::string_view name) noexcept {
  return name.size() >= 3 && (name[0] == 'M' || name[0] == 'm') && name[1] == '0' && name[2] == '-';
}

/// Takes every M0- field out of an answer's, so that none reaches a client, and reads them. Nothing: it asks for no
/// hold. An error is the end of a sentence for the log.
[[nodiscard]] std::expected<std::optional<Hold>, std::string> take_hold(http::FieldList& fields);

/// M0-Close: a close code, any number, and perhaps a reason behind a space.
struct CloseWish {
  std::uint16_t code = 1000;
  std::string reason = {};
  friend bool operator==(const CloseWish&, const CloseWish&) = default;
};

/// What the answer to a message of a held client asks for, beside its status and body.
struct Reply {
  std::optional<std::vector<std::string>> channels;  // M0-Channel: in place of those it had; never empty
  std::optional<CloseWish> close;                    // M0-Close
  friend bool operator==(const Reply&, const Reply&) = default;
};

/// Reads the M0- fields of such an answer. Those of a hold are passed over, so that one view may answer both. An error
/// is the end of a sentence for the log.
[[nodiscard]] std::expected<Reply, std::string> read_reply(const http::FieldList& fields);

}  // namespace m0::handler
