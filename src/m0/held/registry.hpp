#pragma once
// What is held by one worker: how an admitted answer becomes a held client, and when each of them is due.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "m0/base/clock.hpp"
#include "m0/base/intrusive_list.hpp"
#include "m0/handler/exchange.hpp"
#include "m0/held/admission.hpp"
#include "m0/held/client.hpp"
#include "m0/held/common.hpp"
#include "m0/held/mailroom.hpp"
#include "m0/pubsub/event_log.hpp"
#include "m0/pubsub/outbox.hpp"

namespace m0::held {

/// The loop's thread.
class Registry {
 public:
  /// `reader`: whose bell of the log it is.
  Registry(pubsub::EventLog& log, unsigned reader, const Config& config, handler::PostOffice& office);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// The position of a request whose head is complete now: a hold starts there.
  [[nodiscard]] std::uint64_t arrival() const noexcept { return log_.last_seq(); }
  /// What the connection of the next request is called.
  [[nodiscard]] pubsub::ConnectionId next_connection() noexcept { return {common_.worker, ++serial_}; }

  /// Whether the client was told not to come back, and is to be answered 204 without asking anybody.
  [[nodiscard]] static bool was_dismissed(const http::RequestHead& request) noexcept;
  /// Whether a refusal must not be a 503: browsers never come back to an event stream that was answered with an error.
  [[nodiscard]] static bool asks_for_event_stream(const http::RequestHead& request) noexcept;
  /// Makes the answer one that ends at once and without an end of its own, after it has told when to come back. The
  /// exchange belongs to the loop.
  void refuse(handler::Exchange& exchange);
  [[nodiscard]] std::optional<Admission> admit(handler::Exchange& exchange) const {
    return held::admit(exchange, common_.config);
  }
  /// `head`: the framed head of the answer. Its exchange is not needed afterwards.
  [[nodiscard]] std::unique_ptr<Client> open(Wire& wire, const handler::Exchange& exchange, const Admission& admission,
                                             std::string head);

  /// Reads the log and sends. True: there is more to do at once.
  bool turn();
  /// When it wants a turn although nothing was published.
  [[nodiscard]] base::Instant retry_outbox(base::Instant now) {
    return std::min(outbox_.retry(now), answers_.retry(now));
  }
  /// Whoever publishes rings from now on. False: there is something already.
  [[nodiscard]] bool may_sleep() noexcept;
  void awake() noexcept { log_.awake(reader_); }

  /// Keep-alives, and those whose time is over; once a second is enough.
  void tick(base::Instant now);
  /// The server stops, and everything has to be over `within` the stop: sends away as many as are due when `elapsed` of
  /// the drain spread is over. How many are left.
  std::size_t drain(base::Duration elapsed, base::Duration within);
  /// No message waits for its view, or is with it.
  [[nodiscard]] bool messages_answered() const noexcept { return mailroom_.idle(); }

  [[nodiscard]] pubsub::EventLog& log() noexcept { return log_; }

 private:
  struct Beginning {
    std::uint64_t cursor;
    std::optional<pubsub::EventId> foreign;  // where a client was in another life of the log
  };
  [[nodiscard]] Beginning beginning(const handler::Exchange& exchange, const handler::Hold& hold);
  [[nodiscard]] Client::Times times(const handler::Hold& hold);
  [[nodiscard]] std::unique_ptr<Client> open_stream(Wire& wire, const handler::Exchange& exchange,
                                                    const Admission& admission, const Beginning& from,
                                                    std::string head);
  [[nodiscard]] std::unique_ptr<Client> open_websocket(Wire& wire, const handler::Exchange& exchange,
                                                       const Admission& admission, const Beginning& from,
                                                       std::string head);
  void on_control(const pubsub::Record& record);
  void tell_presence(const pubsub::Record& record);
  void send_all_away();

  pubsub::EventLog& log_;
  const unsigned reader_;
  Common common_;
  Mailroom mailroom_;
  pubsub::Outbox outbox_;
  pubsub::Outbox answers_;  // to what it is asked
  bool more_ = false;
  bool caught_up_ = false;
  std::uint64_t serial_ = 0;
  Calendar::List away_;       // of a stop: those that were sent away, and have not gone yet
  std::size_t to_drain_ = 0;  // when the stop began
};

}  // namespace m0::held
