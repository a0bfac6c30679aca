#pragma once
// How an answer that asks to be held is made right for it, or refused.

#include <optional>
#include <string>
#include <string_view>

#include "m0/handler/exchange.hpp"
#include "m0/handler/hold.hpp"
#include "m0/held/config.hpp"

namespace m0::held {

/// An answer whose connection will be held.
struct Admission {
  handler::Hold hold;
  std::string switching;  // of a WebSocket: its whole 101; else the head is framed like that of any answer
  bool deflate = false;   // of a WebSocket: permessage-deflate was agreed on
  bool binary = false;    // of a WebSocket: its first frame, which is the body of the answer
};

/// Looks at an answer before its head is framed, and takes the server's own fields out of it. Nothing: it is an
/// ordinary answer, also where it has become one (426, 400, 403) because of what the client asked, or a 500 because of
/// what it wished itself, with the reason in the log. The loop.
[[nodiscard]] std::optional<Admission> admit(handler::Exchange& exchange, const Config& config);

/// Whether the body of an answer becomes a binary frame.
[[nodiscard]] bool asks_for_binary(const handler::Response& response) noexcept;

/// The body of an answer that may be held.
[[nodiscard]] std::string_view body_of(const handler::ResponseBody& body) noexcept;

}  // namespace m0::held
