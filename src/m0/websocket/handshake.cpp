#include "m0/websocket/handshake.hpp"

#include <algorithm>

#include "m0/base/bytes.hpp"
#include "m0/http/field_line.hpp"
#include "m0/http/list.hpp"
#include "m0/websocket/base64.hpp"
#include "m0/websocket/sha1.hpp"

namespace m0::websocket {
namespace {

using base::iequals;
using http::append_field_line;

constexpr std::size_t kKeySize = 16;  // RFC 6455 4.1: a nonce of 16 bytes

std::unexpected<http::Refusal> refuse(int status, const char* why) noexcept {
  return std::unexpected(http::Refusal{status, why});
}

/// Whether a list over all fields of that name holds the element, whatever its case.
bool lists(const http::RequestHead& head, std::string_view name, std::string_view wanted) noexcept {
  bool found = false;
  for (const http::Field& field : head.fields) {
    if (!iequals(field.name, name)) continue;
    http::each_element(field.value, [&](std::string_view element) { found = found || iequals(element, wanted); });
  }
  return found;
}

std::size_t count(const http::RequestHead& head, std::string_view name) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(head.fields, [&](const http::Field& field) { return iequals(field.name, name); }));
}

/// RFC 6455 4.1 (10): tokens, each once. An empty element is none.
std::expected<void, http::Refusal> add_subprotocols(std::string_view list, std::vector<std::string_view>& offers) {
  const char* fault = nullptr;
  http::each_element(list, [&](std::string_view element) {
    if (fault != nullptr) return;
    if (!http::is_token(element)) {
      fault = "malformed Sec-WebSocket-Protocol";
    } else if (std::ranges::find(offers, element) != offers.end()) {
      fault = "subprotocol offered twice";
    } else if (offers.size() == kMaxSubprotocols) {
      fault = "too many subprotocols";
    } else {
      offers.push_back(element);
    }
  });
  if (fault != nullptr) return refuse(400, fault);
  return {};
}

/// What an application's answer may not say of a connection that becomes a WebSocket: what the handshake says itself,
/// and what belongs to a body, for a 101 has none (RFC 9110 8.6, RFC 9112 6.1).
bool is_ours(std::string_view name) noexcept {
  constexpr std::string_view kFamily = "sec-websocket-";
  return iequals(name.substr(0, kFamily.size()), kFamily) || iequals(name, "upgrade") || iequals(name, "connection") ||
         iequals(name, "keep-alive") || iequals(name, "content-length") || iequals(name, "transfer-encoding") ||
         iequals(name, "trailer");
}

}  // namespace

bool Handshake::offers(std::string_view subprotocol) const noexcept {
  return std::ranges::find(subprotocols, subprotocol) != subprotocols.end();
}

bool asks_for_websocket(const http::RequestHead& head) noexcept { return lists(head, "upgrade", "websocket"); }

std::expected<Handshake, http::Refusal> read_handshake(const http::RequestHead& head,
                                                       const std::optional<DeflateSettings>& deflate) {
  if (head.method != "GET") return refuse(400, "WebSocket handshake without GET");
  if (head.version != http::Version::Http11) return refuse(400, "WebSocket handshake on HTTP/1.0");
  if (!asks_for_websocket(head)) return refuse(400, "Upgrade does not name websocket");
  if (!lists(head, "connection", "upgrade")) return refuse(400, "Connection does not name upgrade");
  // RFC 6455 says nothing of a body. What follows the head has to be frames and nothing else.
  if (head.body == http::BodyKind::Chunked || head.content_length != 0) {
    return refuse(400, "WebSocket handshake with a body");
  }

  // The version first: the other fields are as a version defines them.
  if (count(head, "sec-websocket-version") > 1) return refuse(400, "more than one Sec-WebSocket-Version");
  if (head.find("sec-websocket-version") != kVersion) return refuse(426, "WebSocket version is not 13");
  if (count(head, "origin") > 1) return refuse(400, "more than one Origin");  // RFC 6454 7.3

  Handshake handshake;
  if (count(head, "sec-websocket-key") != 1) return refuse(400, "not one Sec-WebSocket-Key");
  handshake.key = head.find("sec-websocket-key");
  if (base64_size(handshake.key) != kKeySize) return refuse(400, "malformed Sec-WebSocket-Key");

  for (const http::Field& field : head.fields) {
    if (iequals(field.name, "sec-websocket-protocol")) {
      if (const auto added = add_subprotocols(field.value, handshake.subprotocols); !added) {
        return std::unexpected(added.error());
      }
    } else if (iequals(field.name, "sec-websocket-extensions")) {
      if (!read_extension_offers(field.value, deflate.value_or(DeflateSettings{}), handshake.deflate)) {
        return refuse(400, "malformed Sec-WebSocket-Extensions");
      }
    }
  }
  if (!deflate) handshake.deflate.reset();
  return handshake;
}

std::string accept_value(std::string_view key) {
  std::string text(key);
  text += "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::string out;
  append_base64(out, sha1(text));
  return out;
}

bool append_switching_protocols(std::string& out, const Handshake& handshake, std::string_view subprotocol,
                                const http::FieldList& others) {
  if (!subprotocol.empty() && !handshake.offers(subprotocol)) return false;
  out += "HTTP/1.1 101 Switching Protocols\r\n";
  append_field_line(out, "Upgrade", "websocket");
  append_field_line(out, "Connection", "Upgrade");
  append_field_line(out, "Sec-WebSocket-Accept", accept_value(handshake.key));
  if (!subprotocol.empty()) append_field_line(out, "Sec-WebSocket-Protocol", subprotocol);
  if (handshake.deflate) {
    out += "Sec-WebSocket-Extensions: ";
    append_extension_answer(out, *handshake.deflate);
    out += "\r\n";
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    const http::Field field = others[i];
    if (!is_ours(field.name)) append_field_line(out, field.name, field.value);
  }
  out += "\r\n";
  return true;
}

}  // namespace m0::websocket
