#pragma once
// Who is there: a question to all readers of a log, by control records, and what they answer.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "m0/base/clock.hpp"
#include "m0/pubsub/event_log.hpp"
#include "m0/pubsub/publisher.hpp"
#include "m0/pubsub/record.hpp"

namespace m0::pubsub {

/// Who has a channel, on all workers.
struct Presence {
  struct Connection {
    std::string id;
    std::string metadata;  // lines "M0-Meta-Name: value\r\n"
    friend bool operator==(const Connection&, const Connection&) = default;
  };
  std::uint64_t count = 0;
  std::vector<Connection> connections;  // as many as were asked for, or as fit into an event
  bool complete = true;                 // false: a worker that lives has not answered in time
};

/// For who cannot take it as it is: the count, "all" or "some", and of each connection its id and its metadata.
[[nodiscard]] std::vector<std::string> to_fields(Presence presence);

/// Of one question. A process that may read the log; one thread.
class PresenceQuery {
 public:
  PresenceQuery(EventLog& log, std::string channel, std::size_t limit);

  /// Does what can be done without waiting. True: every worker that was there has answered, or has gone.
  [[nodiscard]] std::expected<bool, AppendError> advance();
  /// What came so far. Once.
  [[nodiscard]] Presence take();

 private:
  struct Expected {
    unsigned reader;
    std::uint32_t life;
    bool answered = false;
  };
  [[nodiscard]] bool all_answered() const;
  void look();
  void read_answer(const Record& record);

  EventLog& log_;
  const std::string channel_;
  const std::size_t limit_;
  std::string id_;
  std::vector<Expected> expected_;
  bool asked_ = false;
  std::uint64_t position_ = 0;
  Record record_;
  Presence presence_;
};

/// A worker's side: what a question asks, and the data of its answer.
struct PresenceQuestion {
  std::string_view id;
  std::size_t limit = 0;
};
[[nodiscard]] std::optional<PresenceQuestion> read_question(const Record& record) noexcept;

class PresenceAnswer {
 public:
  /// `reader`: who answers. More than `most_bytes` are not written.
  PresenceAnswer(const EventLog& log, unsigned reader, std::size_t most_bytes);
  void add(std::string_view id, std::string_view metadata);
  [[nodiscard]] std::string data(std::uint64_t count) const;

 private:
  std::string head_;
  std::string connections_;
  std::size_t most_bytes_;
};

/// Asks, and waits at most `patience` for those that live. WouldWait on a loop. Any thread.
[[nodiscard]] std::expected<Presence, PublishError> presence(std::string_view channel, std::size_t limit = 100,
                                                             base::Duration patience = std::chrono::seconds(1));

}  // namespace m0::pubsub
