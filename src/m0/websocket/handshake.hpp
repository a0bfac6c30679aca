#pragma once
// The opening handshake, a server's side (RFC 6455 section 4.2).

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "m0/http/headers.hpp"
#include "m0/http/refusal.hpp"
#include "m0/http/request_head.hpp"
#include "m0/websocket/extensions.hpp"

namespace m0::websocket {

/// The only version there is (RFC 6455 11.6). A refusal with 426 has to carry it as Sec-WebSocket-Version (4.4), and
/// "Upgrade: websocket" (RFC 9110 15.5.22).
inline constexpr std::string_view kVersion = "13";

/// Offers of a client beyond this are refused: each is compared with all before it.
inline constexpr std::size_t kMaxSubprotocols = 64;

/// What a client asked for and what was agreed on. Views into the request's head.
struct Handshake {
  std::string_view key;
  std::vector<std::string_view> subprotocols;  // as the client prefers them
  std::optional<DeflateAgreement> deflate;

  /// A subprotocol may be answered only if it was offered (RFC 6455 4.2.2); case matters.
  [[nodiscard]] bool offers(std::string_view subprotocol) const noexcept;
};

/// Whether Upgrade names websocket: what comes is meant to be a handshake, be it a good one or not.
[[nodiscard]] bool asks_for_websocket(const http::RequestHead& head) noexcept;

/// Checks a handshake (RFC 6455 4.2.1). A version other than 13 is refused with 426, everything else with 400. Origin
/// is the caller's to judge; it is only made sure that there is at most one. Without settings no compression is agreed
/// on.
[[nodiscard]] std::expected<Handshake, http::Refusal> read_handshake(const http::RequestHead& head,
                                                                     const std::optional<DeflateSettings>& deflate);

/// RFC 6455 4.2.2 (5.4): the value of Sec-WebSocket-Accept.
[[nodiscard]] std::string accept_value(std::string_view key);

/// Appends the whole 101 with `others` in it, of which those are left out that the handshake alone may write, and those
/// that announce a body. False, and nothing is appended, for a subprotocol that was not offered; empty is none.
[[nodiscard]] bool append_switching_protocols(std::string& out, const Handshake& handshake,
                                              std::string_view subprotocol, const http::FieldList& others);

}  // namespace m0::websocket
