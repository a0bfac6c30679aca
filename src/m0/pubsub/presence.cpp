#include "m0/pubsub/presence.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "m0/base/fd_registry.hpp"
#include "m0/pubsub/channel_name.hpp"
#include "m0/pubsub/control.hpp"
#include "m0/pubsub/outbox.hpp"

namespace m0::pubsub {
namespace {

constexpr base::Duration kFirstNap = std::chrono::microseconds(50);
constexpr base::Duration kLongestNap = std::chrono::milliseconds(1);

/// A number at the start of `text`, and the one byte behind it, are taken off. Nothing where there is none.
template <class Number>
std::optional<Number> take_number(std::string_view& text) noexcept {
  Number number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto used = static_cast<std::size_t>(stop - text.data());
  if (error != std::errc{} || used == text.size()) return std::nullopt;
  text.remove_prefix(used + 1);
  return number;
}

std::string new_query_id() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
  }
  return fmt::format("{:016x}", number);
}

}  // namespace

// A question's data: "<id> <limit> ". An answer's channel is the question's id, its data "<reader> <life> <count> " and
// then for each connection "<bytes of the id> <bytes of the metadata> " and both.

PresenceQuery::PresenceQuery(EventLog& log, std::string channel, std::size_t limit)
    : log_(log), channel_(std::move(channel)), limit_(limit), id_(new_query_id()) {}

std::expected<bool, AppendError> PresenceQuery::advance() {
  if (!asked_) {
    expected_.clear();
    for (unsigned reader = 0; reader < log_.readers(); ++reader) {
      if (const std::uint32_t life = log_.life(reader); EventLog::reads(life)) expected_.push_back({reader, life});
    }
    position_ = log_.answers().head();
    const std::string question = fmt::format("{} {} ", id_, limit_);
    NewEvent event = control_event(Verb::AskPresence, channel_, question);
    event.passing = true;
    const auto asked = log_.try_append(event);
    if (!asked) return std::unexpected(asked.error());
    asked_ = true;
  }
  look();
  return all_answered();
}

bool PresenceQuery::all_answered() const {
  // One that has gone has nobody any more, and a successor had nobody then.
  return std::ranges::all_of(
      expected_, [&](const Expected& each) { return each.answered || log_.life(each.reader) != each.life; });
}

void PresenceQuery::look() {
  for (;;) {
    switch (log_.answers().read(position_, record_)) {
      case EventLog::Read::AtEnd: return;
      case EventLog::Read::Overwritten: position_ = log_.answers().tail(); continue;
      case EventLog::Read::Ok: break;
    }
    position_ = record_.next_position();
    if (record_.channel() == id_ && verb_of(record_) == Verb::TellPresence) read_answer(record_);
  }
}

void PresenceQuery::read_answer(const Record& record) {
  std::string_view rest = record.data();
  const auto reader = take_number<unsigned>(rest);
  const auto life = reader ? take_number<std::uint32_t>(rest) : std::nullopt;
  const auto count = life ? take_number<std::uint64_t>(rest) : std::nullopt;
  if (!count) return;
  for (Expected& each : expected_) each.answered = each.answered || (each.reader == *reader && each.life == *life);
  presence_.count += *count;
  while (!rest.empty() && presence_.connections.size() < limit_) {
    const auto id = take_number<std::size_t>(rest);
    const auto metadata = id ? take_number<std::size_t>(rest) : std::nullopt;
    if (!metadata || *id > rest.size() || *metadata > rest.size() - *id) return;
    presence_.connections.push_back({std::string(rest.substr(0, *id)), std::string(rest.substr(*id, *metadata))});
    rest.remove_prefix(*id + *metadata);
  }
}

Presence PresenceQuery::take() {
  if (asked_) look();
  presence_.complete = asked_ && all_answered();
  return std::move(presence_);
}

std::vector<std::string> to_fields(Presence presence) {
  std::vector<std::string> fields{std::to_string(presence.count), presence.complete ? "all" : "some"};
  for (Presence::Connection& connection : presence.connections) {
    fields.push_back(std::move(connection.id));
    fields.push_back(std::move(connection.metadata));
  }
  return fields;
}

std::optional<PresenceQuestion> read_question(const Record& record) noexcept {
  std::string_view rest = record.data();
  const std::size_t space = rest.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  PresenceQuestion question{.id = rest.substr(0, space)};
  rest.remove_prefix(space + 1);
  const auto limit = take_number<std::size_t>(rest);
  if (!limit) return std::nullopt;
  question.limit = *limit;
  return question;
}

PresenceAnswer::PresenceAnswer(const EventLog& log, unsigned reader, std::size_t most_bytes)
    : head_(fmt::format("{} {} ", reader, log.life(reader))), most_bytes_(most_bytes) {}

void PresenceAnswer::add(std::string_view id, std::string_view metadata) {
  std::string one = fmt::format("{} {} {}{}", id.size(), metadata.size(), id, metadata);
  if (connections_.size() + one.size() <= most_bytes_) connections_ += one;
}

std::string PresenceAnswer::data(std::uint64_t count) const {
  return fmt::format("{}{} {}", head_, count, connections_);
}

std::expected<Presence, PublishError> presence(std::string_view channel, std::size_t limit, base::Duration patience) {
  if (!channel_problem(channel).empty()) return std::unexpected(PublishError::BadName);
  EventLog* const log = current_log();
  if (log == nullptr || base::fd_registry::in_forked_child()) return std::unexpected(PublishError::NoServer);
  if (on_a_loop()) return std::unexpected(PublishError::WouldWait);
  PresenceQuery query(*log, std::string(channel), limit);
  const base::Instant until = base::now() + patience;
  for (base::Duration nap = kFirstNap; base::now() < until; nap = std::min(nap * 2, kLongestNap)) {
    const auto done = query.advance();
    if (done && *done) break;
    if (!done && done.error() != AppendError::Busy) return std::unexpected(to_publish_error(done.error()));
    std::this_thread::sleep_for(nap);
  }
  return query.take();
}

}  // namespace m0::pubsub
