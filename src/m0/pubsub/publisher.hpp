#pragma once
// Publishing from any thread of a process that serves.

#include <expected>
#include <string_view>

#include "m0/base/clock.hpp"
#include "m0/pubsub/control.hpp"
#include "m0/pubsub/event.hpp"
#include "m0/pubsub/event_id.hpp"
#include "m0/pubsub/event_log.hpp"

namespace m0::pubsub {

/// The log of this process; null until a worker has one, and in a process that forked off one. Any thread.
void use_log(EventLog* log) noexcept;
[[nodiscard]] EventLog* current_log() noexcept;

enum class PublishError : std::uint8_t {
  NoServer,   // this process serves nobody
  Busy,       // the log was held for too long
  Queued,     // of a loop: it is tried again each turn, for a second
  WouldWait,  // of a loop, which must not
  TooLarge,
  BadName,  // of the channel, the event or the connection
};
[[nodiscard]] std::string_view describe(PublishError error) noexcept;

[[nodiscard]] PublishError to_publish_error(AppendError error) noexcept;

class Outbox;
/// From now on this thread, a loop's, publishes through it and never waits. Null: no longer.
void use_outbox(Outbox* outbox) noexcept;
[[nodiscard]] bool on_a_loop() noexcept;

/// Every subscriber of the channel gets it, on every worker. Waits at most `patience` for another publisher: a thread
/// of an interpreter gives up its lock meanwhile. A loop does not wait at all. Any thread.
[[nodiscard]] std::expected<EventId, PublishError> publish(const NewEvent& event,
                                                           base::Duration patience = std::chrono::seconds(1));

/// The same for a control record (control.hpp), whose makers have looked at what is in it.
[[nodiscard]] std::expected<EventId, PublishError> tell(const NewEvent& control,
                                                        base::Duration patience = std::chrono::seconds(1));

/// Sends to one held connection: a frame of its own to a WebSocket, an event without an id to an event stream. Whether
/// it is still there nobody knows: the worker that has it hears of it. BadName: no connection has such an id.
[[nodiscard]] std::expected<EventId, PublishError> send(std::string_view connection, std::string_view data, bool binary,
                                                        base::Duration patience = std::chrono::seconds(1));
/// Ends one held connection, or all that have a channel.
[[nodiscard]] std::expected<EventId, PublishError> close_connection(std::string_view connection,
                                                                    const Farewell& farewell,
                                                                    base::Duration patience = std::chrono::seconds(1));
[[nodiscard]] std::expected<EventId, PublishError> close_channel(std::string_view channel, const Farewell& farewell,
                                                                 base::Duration patience = std::chrono::seconds(1));

}  // namespace m0::pubsub
