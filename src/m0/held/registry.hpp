#pragma once
// What is held by one worker: how an answer becomes a held stream, and when each of them is due.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "m0/base/clock.hpp"
#include "m0/base/intrusive_list.hpp"
#include "m0/handler/exchange.hpp"
#include "m0/handler/hold.hpp"
#include "m0/held/config.hpp"
#include "m0/held/stream.hpp"
#include "m0/pubsub/event_log.hpp"
#include "m0/pubsub/hub.hpp"
#include "m0/pubsub/outbox.hpp"

namespace m0::held {

/// The loop's thread.
class Registry {
 public:
  /// `reader`: whose bell of the log it is.
  Registry(pubsub::EventLog& log, unsigned reader, const Config& config);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// The position of a request whose head is complete now: a hold starts there.
  [[nodiscard]] std::uint64_t arrival() const noexcept { return log_.last_seq(); }

  /// Looks at an answer before its head is framed, and takes the server's own fields out of it. A hold: its head was
  /// made right for one, and open() follows. An answer whose wishes cannot be met has become a 500, the reason is in
  /// the log.
  [[nodiscard]] std::optional<handler::Hold> prepare(handler::Exchange& exchange);
  /// Whether a refusal must not be a 503: browsers never come back to an event stream that was answered with an error.
  [[nodiscard]] static bool asks_for_event_stream(const http::RequestHead& request) noexcept;
  /// Makes the answer one that ends at once and without an end of its own, after it has told when to come back. The
  /// exchange belongs to the loop.
  void refuse(handler::Exchange& exchange);
  /// `head`: the framed head of the answer. Its exchange is not needed afterwards.
  [[nodiscard]] std::unique_ptr<Stream> open(Wire& wire, const handler::Exchange& exchange, const handler::Hold& hold,
                                             std::string head);

  /// Reads the log and sends. True: there is more to do at once.
  bool turn();
  /// When it wants a turn although nothing was published.
  [[nodiscard]] base::Instant retry_outbox(base::Instant now) { return outbox_.retry(now); }
  /// Whoever publishes rings from now on. False: there is something already.
  [[nodiscard]] bool may_sleep() noexcept;
  void awake() noexcept { log_.awake(reader_); }

  /// Keep-alives, and those whose time is over; once a second is enough.
  void tick(base::Instant now);
  /// The server stops, and everything has to be over `within` the stop: sends away as many as are due when `elapsed` of
  /// the drain spread is over. How many are left.
  std::size_t drain(base::Duration elapsed, base::Duration within);

  [[nodiscard]] pubsub::EventLog& log() noexcept { return log_; }

 private:
  struct Beginning {
    std::uint64_t cursor;
    std::optional<pubsub::EventId> foreign;  // where a client was in another life of the log
  };
  [[nodiscard]] Beginning beginning(const handler::Exchange& exchange, const handler::Hold& hold);
  [[nodiscard]] std::uint32_t seconds(base::Instant now) const noexcept;
  [[nodiscard]] std::uint32_t random_below(std::uint32_t bound) {
    return bound == 0 ? 0 : static_cast<std::uint32_t>(random_() % bound);
  }
  void schedule(Stream& stream);
  /// A reconnection time for many who are sent away at once.
  [[nodiscard]] unsigned spread_retry();

  static constexpr std::size_t kBuckets = 64;
  using Due = base::IntrusiveList<Stream, DueTag>;

  pubsub::EventLog& log_;
  const unsigned reader_;
  const Config config_;
  pubsub::Hub hub_;
  pubsub::Outbox outbox_;
  bool more_ = false;
  const base::Instant epoch_;
  std::uint32_t ticked_ = 0;       // up to this second
  std::array<Due, kBuckets> due_;  // by the second, modulo
  std::minstd_rand random_;
  std::size_t to_drain_ = 0;  // when the stop began
};

}  // namespace m0::held
