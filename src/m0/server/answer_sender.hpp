#pragma once
// The sending half of a connection: one answer at a time, from its exchange through the session into the transport.

#include <cstdint>
#include <string>
#include <string_view>

#include "m0/handler/exchange.hpp"
#include "m0/http/session.hpp"
#include "m0/net/transport.hpp"

namespace m0::server {

/// Where one attempt to send has left an answer.
struct Sent {
  enum class What : std::uint8_t {
    All,      // the answer has been sent to its end
    Blocked,  // the socket takes no more at the moment; `progress` says whether it took something
    More,     // the connection's share of this turn is used up
    Starved,  // the application has not made more yet
    Gone,     // the connection is broken
    Cut,      // the body ended before its end: nothing more will come of it
  };
  What what = What::All;
  bool progress = false;
};

/// The loop's thread. What it is given (exchange, session, transport) is the connection's.
class AnswerSender {
 public:
  /// Frames the head of exchange.response. `close`: the connection ends after this answer.
  void begin(handler::Exchange& exchange, http::Session& session, http::StreamId stream,
             const http::AnswerContext& context, bool close);
  /// Moves what it can: one write a turn, and of a file or a stream no more than a turn's share. `returned`: the pool
  /// has let go of the exchange, so what its window holds is all that there will be.
  [[nodiscard]] Sent send(handler::Exchange& exchange, http::Session& session, http::StreamId stream,
                          net::Transport& transport, bool returned);
  /// The same for what stands in exchange.wire before any answer was begun (an interim response).
  [[nodiscard]] Sent send_interim(handler::Exchange& exchange, net::Transport& transport);

  /// What stands in exchange.wire and was not sent: somebody else sends it.
  [[nodiscard]] std::string take_unsent(handler::Exchange& exchange);

  /// Of the body, without its framing.
  [[nodiscard]] std::uint64_t body_bytes() const noexcept { return body_bytes_; }

 private:
  [[nodiscard]] std::string_view body_left(const handler::Exchange& exchange) const noexcept;
  void end_body(handler::Exchange& exchange, http::Session& session, http::StreamId stream);
  void pump(handler::Exchange& exchange, http::Session& session, http::StreamId stream, bool returned);
  void pump_window(handler::Exchange& exchange, http::Session& session, http::StreamId stream, bool returned);
  void pump_producer(handler::Exchange& exchange, http::Session& session, http::StreamId stream);
  [[nodiscard]] Sent write(handler::Exchange& exchange, http::Session* session, http::StreamId stream,
                           std::string_view body, net::Transport& transport, bool more);
  [[nodiscard]] Sent send_file(handler::Exchange& exchange, http::Session& session, http::StreamId stream,
                               net::Transport& transport);

  std::uint64_t body_bytes_ = 0;
  std::uint32_t wire_sent_ = 0;  // of exchange.wire
  bool body_ended_ = false;      // nothing of the body is left to frame
};

}  // namespace m0::server
