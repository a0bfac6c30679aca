#pragma once
// What Sec-WebSocket-Extensions offers and what is agreed on (RFC 6455 section 9.1, RFC 7692 sections 5 and 7.1).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace m0::websocket {

/// Windows in bits, 9 to 15: the greatest that are wanted, and the smallest that we can do with. An offer of less is
/// declined, and the next one looked at.
struct DeflateSettings {
  std::uint8_t server_window_bits = 15;
  std::uint8_t client_window_bits = 15;
  std::uint8_t least_server_window_bits = 9;
};

/// permessage-deflate as both sides will do it, never with context takeover.
struct DeflateAgreement {
  std::uint8_t server_window_bits = 15;  // what a Deflater for this connection may use
  bool answers_server_bits = false;      // the offer named a window for us
  std::uint8_t client_window_bits = 15;
  bool answers_client_bits = false;  // we ask for a smaller one, which the offer allows

  friend bool operator==(const DeflateAgreement&, const DeflateAgreement&) = default;
};

/// Reads the value of one field and takes the first offer of permessage-deflate that can be met, unless `agreed` holds
/// one of a field before it. Extensions that nobody here knows are passed over. False where the value does not keep to
/// the grammar: then the handshake fails (RFC 6455 9.1).
[[nodiscard]] bool read_extension_offers(std::string_view value, const DeflateSettings& settings,
                                         std::optional<DeflateAgreement>& agreed);

/// Appends the value that answers with the agreement.
void append_extension_answer(std::string& out, const DeflateAgreement& agreement);

}  // namespace m0::websocket
