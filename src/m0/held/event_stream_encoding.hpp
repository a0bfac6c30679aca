#pragma once
// Server-Sent Events (the HTML standard, 9.2): how events look on a held event stream.

#include <cstdint>
#include <string>
#include <string_view>

#include "m0/pubsub/encoding.hpp"

namespace m0::held {

/// The loop.
class EventStreamEncoding final : public pubsub::Encoding {
 public:
  enum class Framing : std::uint8_t {
    Plain,    // to an HTTP/1.0 client: delimited by the connection's end
    Chunked,  // RFC 9112 7.1: each block is a chunk, so that a stream that is cut is told from one that has ended
  };
  explicit EventStreamEncoding(Framing framing) noexcept
      : Encoding(static_cast<unsigned>(framing)), framing_(framing) {}
  /// The one of its kind.
  [[nodiscard]] static const EventStreamEncoding& of(Framing framing) noexcept;

  void append(std::string& out, const pubsub::EventId& id, const pubsub::Record& record) const override;
  /// An event "m0-gap" whose data is {"from":ID,"to":ID}; its id is `to`, so that it is told once.
  [[nodiscard]] bool append_gap(std::string& out, const pubsub::EventId& from,
                                const pubsub::EventId& to) const override;

  /// A block that is no event: a comment, the reconnection time, and the cursor, which a client that honours blocks
  /// without data sends when it comes back.
  void append_cursor(std::string& out, const pubsub::EventId& at, unsigned retry_ms) const;
  /// "Come back after so long."
  void append_retry(std::string& out, unsigned retry_ms) const;
  /// An event without an id, which the cursor of who gets it does not move past.
  void append_message(std::string& out, std::string_view data) const;
  /// "Do not come back": a cursor that says so to who is asked with it, then the stream's end.
  void append_end(std::string& out, const pubsub::EventId& at) const;
  /// What the application wrote as the head of the stream, as it is.
  void append_raw(std::string& out, std::string_view text) const;

 private:
  Framing framing_;
};

}  // namespace m0::held
