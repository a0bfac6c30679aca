#include "m0/websocket/extensions.hpp"

#include <algorithm>

#include "m0/base/bytes.hpp"
#include "m0/http/headers.hpp"
#include "m0/http/scan.hpp"

namespace m0::websocket {
namespace {

/// A parameter as it was sent. No value and an empty value cannot be confused: the grammar knows no empty value.
struct Parameter {
  std::string_view name;
  std::string value;  // unquoted
};

/// What is left of a field value. The grammar is that of RFC 2616 2.1, where whitespace may stand between any two
/// parts.
class Cursor {
 public:
  explicit Cursor(std::string_view text) noexcept : rest_(text) {}

  [[nodiscard]] bool at_end() noexcept {
    skip_whitespace();
    return rest_.empty();
  }
  /// Takes that character, if it comes next.
  [[nodiscard]] bool take(char c) noexcept {
    skip_whitespace();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// Empty where no token comes next.
  [[nodiscard]] std::string_view token() noexcept {
    skip_whitespace();
    const char* const begin = rest_.data();
    const std::string_view token(begin, http::scan_token(begin, begin + rest_.size()));
    rest_.remove_prefix(token.size());
    return token;
  }
  /// token / quoted-string; what the latter quotes has to be a token too (RFC 6455 9.1). Empty where neither is.
  [[nodiscard]] std::string value() {
    if (!take('"')) return std::string(token());
    std::string unquoted;
    while (!rest_.starts_with('"')) {
      if (rest_.starts_with('\\')) rest_.remove_prefix(1);
      if (rest_.empty()) return {};
      unquoted += rest_.front();
      rest_.remove_prefix(1);
    }
    rest_.remove_prefix(1);
    return http::is_token(unquoted) ? unquoted : std::string();
  }

 private:
  void skip_whitespace() noexcept {
    while (rest_.starts_with(' ') || rest_.starts_with('\t')) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

/// A decimal integer from 8 to 15 without leading zeros (RFC 7692 7.1.2), else 0.
std::uint8_t window_bits(std::string_view value) noexcept {
  if (value == "8" || value == "9") return static_cast<std::uint8_t>(value[0] - '0');
  if (value.size() != 2 || value[0] != '1' || value[1] < '0' || value[1] > '5') return 0;
  return static_cast<std::uint8_t>(10 + (value[1] - '0'));
}

/// One offer, parameter by parameter. Whatever RFC 7692 7.1 does not define for an offer declines it.
class Offer {
 public:
  void add(const Parameter& parameter) noexcept {
    if (parameter.name == "server_no_context_takeover") {
      once(no_server_takeover_, parameter.value.empty());
    } else if (parameter.name == "client_no_context_takeover") {
      once(no_client_takeover_, parameter.value.empty());
    } else if (parameter.name == "server_max_window_bits") {
      server_bits_ = window_bits(parameter.value);
      once(has_server_bits_, server_bits_ > kNoWindow);
    } else if (parameter.name == "client_max_window_bits") {
      client_bits_ = parameter.value.empty() ? kWindow : window_bits(parameter.value);
      once(has_client_bits_, client_bits_ != 0);
    } else {
      declined_ = true;
    }
  }

  [[nodiscard]] std::optional<DeflateAgreement> agree(const DeflateSettings& settings) const noexcept {
    if (declined_ || (has_server_bits_ && server_bits_ < settings.least_server_window_bits)) return std::nullopt;
    DeflateAgreement agreement;
    // The client need not be told of a smaller window of ours than it has to have.
    agreement.server_window_bits = settings.server_window_bits;
    if (has_server_bits_) {
      agreement.server_window_bits = std::min(server_bits_, settings.server_window_bits);
      agreement.answers_server_bits = true;
    }
    // RFC 7692 7.1.2.2: only a client that named it may be asked for a smaller window.
    if (has_client_bits_) {
      agreement.client_window_bits = std::min(client_bits_, settings.client_window_bits);
      agreement.answers_client_bits = settings.client_window_bits < kWindow;
    }
    return agreement;
  }

 private:
  static constexpr std::uint8_t kWindow = 15;
  static constexpr std::uint8_t kNoWindow = 8;  // zlib writes no raw stream with so small a window

  void once(bool& seen, bool good) noexcept {
    declined_ = declined_ || seen || !good;
    seen = true;
  }

  bool declined_ = false;
  bool no_server_takeover_ = false;
  bool no_client_takeover_ = false;
  bool has_server_bits_ = false;
  bool has_client_bits_ = false;
  std::uint8_t server_bits_ = 0;
  std::uint8_t client_bits_ = 0;
};

}  // namespace

// RFC 6455 9.1: 1#(extension-token *( ";" token [ "=" value ] )).
bool read_extension_offers(std::string_view value, const DeflateSettings& settings,
                           std::optional<DeflateAgreement>& agreed) {
  Cursor cursor(value);
  do {
    const std::string_view name = cursor.token();
    if (name.empty()) return false;
    Offer offer;
    while (cursor.take(';')) {
      Parameter parameter;
      parameter.name = cursor.token();
      if (parameter.name.empty()) return false;
      if (cursor.take('=')) {
        parameter.value = cursor.value();
        if (parameter.value.empty()) return false;
      }
      offer.add(parameter);
    }
    if (!agreed && name == "permessage-deflate") agreed = offer.agree(settings);
  } while (cursor.take(','));
  return cursor.at_end();
}

// RFC 7692 7.1.1: a server may ask for neither side's takeover although the offer did not.
void append_extension_answer(std::string& out, const DeflateAgreement& agreement) {
  out += "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
  if (agreement.answers_server_bits) {
    out += "; server_max_window_bits=";
    base::append_decimal(out, agreement.server_window_bits);
  }
  if (agreement.answers_client_bits) {
    out += "; client_max_window_bits=";
    base::append_decimal(out, agreement.client_window_bits);
  }
}

}  // namespace m0::websocket
