#pragma once
// What carries a held connection's bytes: the server's connection.

#include <string_view>

#include "m0/pubsub/subscriber.hpp"

namespace m0::held {

/// The loop.
class Wire {
 public:
  /// Sends what the socket takes now. Less than all: the holder is told when it takes more.
  [[nodiscard]] virtual pubsub::Taken write(std::string_view bytes) noexcept = 0;
  /// Ends the connection, as soon as the loop comes to it: what holds it is destroyed then, not during the call.
  virtual void end() noexcept = 0;

 protected:
  ~Wire() = default;
};

}  // namespace m0::held
