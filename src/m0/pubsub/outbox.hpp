#pragma once
// What a loop publishes: it must not wait for the log, so what finds it held by somebody else waits here.

#include <cstddef>
#include <deque>
#include <expected>
#include <string>

#include "m0/base/clock.hpp"
#include "m0/pubsub/event.hpp"
#include "m0/pubsub/event_id.hpp"
#include "m0/pubsub/event_log.hpp"
#include "m0/pubsub/publisher.hpp"

namespace m0::pubsub {

/// The loop's thread. In the order of publish(); what was not appended after kPatience is given up, logged and counted.
class Outbox {
 public:
  static constexpr base::Duration kPatience = std::chrono::seconds(1);
  static constexpr base::Duration kRetryEvery = std::chrono::milliseconds(2);
  static constexpr std::size_t kMostBytes = std::size_t{4} * 1024 * 1024;

  explicit Outbox(EventLog& log) noexcept : log_(log) {}

  /// The id, or PublishError::Queued; Busy when too much waits already.
  [[nodiscard]] std::expected<EventId, PublishError> publish(const NewEvent& event, base::Instant now);
  /// Once a turn. When it wants to be called again; Instant::max(): nothing waits.
  base::Instant retry(base::Instant now);
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
  struct Waiting {
    std::string channel, data, name;
    bool binary, control;
    base::Instant until;
    [[nodiscard]] std::size_t bytes() const noexcept { return channel.size() + data.size() + name.size(); }
  };

  EventLog& log_;
  std::deque<Waiting> waiting_;
  std::size_t bytes_ = 0;
};

}  // namespace m0::pubsub
