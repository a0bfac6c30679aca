#pragma once
// Publishing from any thread of a process that serves.

#include <expected>
#include <string_view>

#include "m0/base/clock.hpp"
#include "m0/pubsub/event.hpp"
#include "m0/pubsub/event_id.hpp"
#include "m0/pubsub/event_log.hpp"

namespace m0::pubsub {

/// The log of this process; null until a worker has one, and in a process that forked off one. Any thread.
void use_log(EventLog* log) noexcept;
[[nodiscard]] EventLog* current_log() noexcept;

enum class PublishError : std::uint8_t {
  NoServer,  // this process serves nobody
  Busy,      // the log was held for too long
  Queued,    // of a loop: it is tried again each turn, for a second
  TooLarge,
  BadName,  // of the channel or the event
};
[[nodiscard]] std::string_view describe(PublishError error) noexcept;

[[nodiscard]] PublishError to_publish_error(AppendError error) noexcept;

class Outbox;
/// From now on this thread, a loop's, publishes through it and never waits. Null: no longer.
void use_outbox(Outbox* outbox) noexcept;

/// Every subscriber of the channel gets it, on every worker. Waits at most `patience` for another publisher: a thread
/// of an interpreter gives up its lock meanwhile. A loop does not wait at all. Any thread.
[[nodiscard]] std::expected<EventId, PublishError> publish(const NewEvent& event,
                                                           base::Duration patience = std::chrono::seconds(1));

}  // namespace m0::pubsub
