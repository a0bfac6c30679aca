#pragma once
// A handshake is a document too: the lines of a request, and what is read from them or the whole answer.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "m0/http/head_parser.hpp"
#include "m0/websocket/handshake.hpp"

namespace m0::websocket::testing {

/// The lines that each handshake needs; a test may leave one out or put another in its place.
struct Lines {
  std::string request = "GET /chat HTTP/1.1";
  std::string host = "Host: server.example.com\r\n";
  std::string upgrade = "Upgrade: websocket\r\n";
  std::string connection = "Connection: Upgrade\r\n";
  std::string key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";  // of RFC 6455 1.3
  std::string version = "Sec-WebSocket-Version: 13\r\n";
  std::string more = {};

  [[nodiscard]] std::string bytes() const {
    return request + "\r\n" + host + upgrade + connection + key + version + more + "\r\n";
  }
};

/// Reads a handshake from the bytes of a request, whose head may be refused already.
class Request {
 public:
  explicit Request(std::string bytes, const std::optional<DeflateSettings>& deflate = DeflateSettings{})
      : bytes_(std::move(bytes)) {
    http::HeadParser parser(http::HeadParser::Section::Request);
    const auto size = parser.parse({}, bytes_, head_);
    if (!size) {
      handshake_ = std::unexpected(size.error());
      return;
    }
    EXPECT_EQ(*size, bytes_.size());
    handshake_ = read_handshake(head_, deflate);
  }
  [[nodiscard]] const http::RequestHead& head() const { return head_; }
  [[nodiscard]] const std::expected<Handshake, http::Refusal>& handshake() const { return handshake_; }

  /// "good", then the subprotocols offered, then "deflate"; or "400 why".
  [[nodiscard]] std::string outcome() const {
    if (!handshake_) return std::to_string(handshake_.error().status) + ' ' + handshake_.error().why;
    std::string out = "good";
    for (const std::string_view offer : handshake_->subprotocols) out += " [" + std::string(offer) + ']';
    return out + (handshake_->deflate ? " deflate" : "");
  }
  /// The answer's head, without its last empty line; "not offered" for such a subprotocol.
  [[nodiscard]] std::string answer(std::string_view subprotocol = {}, const http::FieldList& others = {}) const {
    if (!handshake_) return outcome();
    std::string out;
    if (!append_switching_protocols(out, *handshake_, subprotocol, others)) return out.empty() ? "not offered" : out;
    EXPECT_TRUE(out.ends_with("\r\n\r\n"));
    return out.substr(0, out.size() - 2);
  }

 private:
  std::string bytes_;
  http::RequestHead head_;
  std::expected<Handshake, http::Refusal> handshake_;
};

inline const std::string kSwitching =
    "HTTP/1.1 101 Switching Protocols\r\n"
    "Upgrade: websocket\r\n"
    "Connection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

}  // namespace m0::websocket::testing
