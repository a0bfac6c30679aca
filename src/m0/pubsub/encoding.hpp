#pragma once
// How an event looks on one kind of held connection.

#include <string>

#include "m0/pubsub/event_id.hpp"
#include "m0/pubsub/record.hpp"

namespace m0::pubsub {

/// A pure function of the record: who has sent half a frame encodes it again later and goes on where it stopped. One
/// object for all connections of a kind, as frames are cached by it. The loop.
class Encoding {
 public:
  /// How many there may be whose frames do not displace each other's in a hub's cache.
  static constexpr unsigned kKinds = 6;
  /// `kind`: below kKinds, another one for each.
  explicit Encoding(unsigned kind) noexcept : kind_(kind) {}
  [[nodiscard]] unsigned kind() const noexcept { return kind_; }

  /// Appends at least one byte.
  virtual void append(std::string& out, const EventId& id, const Record& record) const = 0;
  /// "What came after `from`, up to and with `to`, may be lost." False: there is no way to say it on this connection.
  [[nodiscard]] virtual bool append_gap(std::string& out, const EventId& from, const EventId& to) const = 0;

 protected:
  ~Encoding() = default;

 private:
  unsigned kind_;
};

}  // namespace m0::pubsub
