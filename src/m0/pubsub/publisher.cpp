#include "m0/pubsub/publisher.hpp"

#include <atomic>

#include "m0/base/fd_registry.hpp"
#include "m0/pubsub/channel_name.hpp"
#include "m0/pubsub/connection_id.hpp"
#include "m0/pubsub/outbox.hpp"

namespace m0::pubsub {
namespace {

std::atomic<EventLog*> g_log{nullptr};
thread_local Outbox* t_outbox = nullptr;

}  // namespace

void use_log(EventLog* log) noexcept { g_log.store(log, std::memory_order_release); }
EventLog* current_log() noexcept { return g_log.load(std::memory_order_acquire); }

std::string_view describe(PublishError error) noexcept {
  switch (error) {
    case PublishError::NoServer: return "this process does not run under m0serve";
    case PublishError::Busy: return describe(AppendError::Busy);
    case PublishError::Queued: return "the event log is held by another process; it is tried again";
    case PublishError::WouldWait: return "a loop must not wait for what other workers know: ask from a pool thread";
    case PublishError::TooLarge: return describe(AppendError::TooLarge);
    case PublishError::BadName:
      return "a channel has 1 to 255 bytes of UTF-8 without control characters, an event's name at most 255, and a "
             "connection "
             "the id that connection() gave";
  }
  return "unknown";
}

PublishError to_publish_error(AppendError error) noexcept {
  switch (error) {
    case AppendError::Busy: return PublishError::Busy;
    case AppendError::TooLarge: return PublishError::TooLarge;
    case AppendError::BadName: break;
  }
  return PublishError::BadName;
}

void use_outbox(Outbox* outbox) noexcept { t_outbox = outbox; }
bool on_a_loop() noexcept { return t_outbox != nullptr; }

std::expected<EventId, PublishError> publish(const NewEvent& event, base::Duration patience) {
  if (!channel_problem(event.channel).empty() || !event_name_problem(event.name).empty()) {
    return std::unexpected(PublishError::BadName);
  }
  return tell(event, patience);
}

std::expected<EventId, PublishError> send(std::string_view connection, std::string_view data, bool binary,
                                          base::Duration patience) {
  if (!parse_connection_id(connection)) return std::unexpected(PublishError::BadName);
  return tell(control_event(Verb::Send, connection, data, binary), patience);
}

std::expected<EventId, PublishError> close_connection(std::string_view connection, const Farewell& farewell,
                                                      base::Duration patience) {
  if (!parse_connection_id(connection)) return std::unexpected(PublishError::BadName);
  return tell(control_event(Verb::CloseConnection, connection, to_data(farewell)), patience);
}

std::expected<EventId, PublishError> close_channel(std::string_view channel, const Farewell& farewell,
                                                   base::Duration patience) {
  if (!channel_problem(channel).empty()) return std::unexpected(PublishError::BadName);
  return tell(control_event(Verb::CloseChannel, channel, to_data(farewell)), patience);
}

std::expected<EventId, PublishError> tell(const NewEvent& event, base::Duration patience) {
  EventLog* const log = current_log();
  // In a process that the application forked the log is still mapped, but the bells are closed, and their numbers may
  // name other files by now.
  if (log == nullptr || base::fd_registry::in_forked_child()) return std::unexpected(PublishError::NoServer);
  if (t_outbox != nullptr) return t_outbox->publish(event, base::now());
  const auto seq = log->append(event, patience);
  if (seq) return EventId{log->epoch(), *seq};
  return std::unexpected(to_publish_error(seq.error()));
}

}  // namespace m0::pubsub
