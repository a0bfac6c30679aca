#pragma once
// What carries a held connection's bytes: the server's connection.

#include <cstdint>
#include <string_view>

#include "m0/pubsub/subscriber.hpp"

namespace m0::held {

enum class Ending : std::uint8_t {
  Cut,      // closed at once
  Orderly,  // our end is sent, and the client's awaited for a bounded time: what was written before it arrives
};

/// The loop.
class Wire {
 public:
  /// Sends what the socket takes now. Less than all: the holder is told when it takes more.
  [[nodiscard]] virtual pubsub::Taken write(std::string_view bytes) noexcept = 0;
  /// Ends the connection, as soon as the loop comes to it: what holds it is destroyed then, not during the call.
  virtual void end(Ending how) noexcept = 0;
  /// The holder wants input again (Client::wants_input), after a time in which it did not.
  virtual void read_on() noexcept = 0;

 protected:
  ~Wire() = default;
};

}  // namespace m0::held
