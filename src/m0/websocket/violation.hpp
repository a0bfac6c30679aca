#pragma once
// What ends a connection whose peer does not keep to the protocol.

#include <cstdint>

namespace m0::websocket {

/// An error as a value: the code of the close frame that answers it (RFC 6455 7.4.1), and a literal for the log, which
/// never repeats what was sent.
struct Violation {
  std::uint16_t code;
  const char* why;
  friend bool operator==(const Violation&, const Violation&) = default;
};

}  // namespace m0::websocket
