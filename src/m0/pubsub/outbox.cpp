#include "m0/pubsub/outbox.hpp"

#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"

namespace m0::pubsub {
namespace {

const base::metric::Counter g_given_up("m0_events_given_up_total",
                                       "Events of a loop that were not published because the log was held too long");

}  // namespace

std::expected<EventId, PublishError> Outbox::publish(const NewEvent& event, base::Instant now) {
  if (waiting_.empty()) {
    const auto seq = log_.try_append(event);
    if (seq) return EventId{log_.epoch(), *seq};
    if (seq.error() != AppendError::Busy) return std::unexpected(to_publish_error(seq.error()));
  } else if (event.channel.size() + event.name.size() + event.data.size() > log_.largest_event()) {
    return std::unexpected(PublishError::TooLarge);
  }
  Waiting waiting{std::string(event.channel),
                  std::string(event.data),
                  std::string(event.name),
                  event.binary,
                  event.control,
                  now + kPatience};
  if (bytes_ + waiting.bytes() > kMostBytes) return std::unexpected(PublishError::Busy);
  bytes_ += waiting.bytes();
  waiting_.push_back(std::move(waiting));
  return std::unexpected(PublishError::Queued);
}

base::Instant Outbox::retry(base::Instant now) {
  while (!waiting_.empty()) {
    const Waiting& next = waiting_.front();
    const auto seq = log_.try_append({.channel = next.channel,
                                      .data = next.data,
                                      .name = next.name,
                                      .binary = next.binary,
                                      .control = next.control});
    if (!seq) {
      if (seq.error() == AppendError::Busy && now < next.until) return now + kRetryEvery;
      g_given_up.add();
      base::log::error("nothing was published to '{}': {}", next.channel, describe(seq.error()));
    }
    bytes_ -= next.bytes();
    waiting_.pop_front();
  }
  return base::Instant::max();
}

}  // namespace m0::pubsub
