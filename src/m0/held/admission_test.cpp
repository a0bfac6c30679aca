#include "m0/held/admission.hpp"

#include <gtest/gtest.h>

#include "m0/held/config.hpp"

namespace m0::held {
namespace {

using Fields = std::vector<http::Field>;

/// A handshake with `more`, without the field called `missing`.
Fields handshake(const Fields& more = {}, std::string_view missing = {}) {
  Fields fields{{"Host", "example.com"},
                {"Upgrade", "websocket"},
                {"Connection", "Upgrade"},
                {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                {"Sec-WebSocket-Version", "13"}};
  std::erase_if(fields, [&](const http::Field& field) { return field.name == missing; });
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

class WebSocketAdmission : public ::testing::Test {
 protected:
  /// Whether it becomes a WebSocket; else response() says what it became.
  bool admitted(Fields fields, const Fields& answer = {}) {
    http::RequestHead& request = exchange_.request;
    request.method = "GET";
    request.target = request.path = "/";
    request.authority = "example.com";
    request.version = http::Version::Http11;
    request.fields = std::move(fields);
    exchange_.response.clear();
    exchange_.response.head.fields.add("M0-Hold", "websocket");
    exchange_.response.head.fields.add("M0-Channel", "news");
    for (const http::Field& field : answer) exchange_.response.head.fields.add(field.name, field.value);
    admission_ = admit(exchange_, config_);
    return admission_.has_value();
  }
  [[nodiscard]] int status() const { return exchange_.response.head.status; }
  [[nodiscard]] std::string_view answered(std::string_view name) const {
    return exchange_.response.head.fields.find(name);
  }

  Config config_;
  handler::BodyBudget budget_{1 << 20, 1 << 20};
  handler::Exchange exchange_{budget_};
  std::optional<Admission> admission_;
};

TEST_F(WebSocketAdmission, AGoodHandshakeIsA101) {
  ASSERT_TRUE(admitted(handshake()));
  EXPECT_EQ(status(), 101);
  EXPECT_TRUE(admission_->switching.starts_with("HTTP/1.1 101 "));
  EXPECT_FALSE(admission_->deflate);
}

// RFC 6455 4.4 and RFC 9110 15.5.22.
TEST_F(WebSocketAdmission, AnotherVersionIsToldWhatIsSpokenHere) {
  for (const Fields& fields : {handshake({{"Sec-WebSocket-Version", "8"}}, "Sec-WebSocket-Version"),
                               handshake({}, "Sec-WebSocket-Version"), handshake({}, "Upgrade")}) {
    ASSERT_FALSE(admitted(fields));
    EXPECT_EQ(status(), 426);
    EXPECT_EQ(answered("Sec-WebSocket-Version"), "13");
    EXPECT_EQ(answered("Upgrade"), "websocket");
  }
}

TEST_F(WebSocketAdmission, ABrokenHandshakeIsA400) {
  ASSERT_FALSE(admitted(handshake({}, "Sec-WebSocket-Key")));
  EXPECT_EQ(status(), 400);
  EXPECT_EQ(answered("Sec-WebSocket-Version"), "");
}

// RFC 6455 4.2.2 (4) and 10.2.
TEST_F(WebSocketAdmission, APageFromSomewhereElseIsA403) {
  EXPECT_TRUE(admitted(handshake({{"Origin", "http://example.com"}})));
  ASSERT_FALSE(admitted(handshake({{"Origin", "http://evil.example"}})));
  EXPECT_EQ(status(), 403);
  EXPECT_TRUE(admitted(handshake({{"Origin", "http://evil.example"}}), {{"M0-Origin", "any"}}));
  config_.allowed_origins = {"http://evil.example"};
  EXPECT_TRUE(admitted(handshake({{"Origin", "http://evil.example"}})));
}

// RFC 6455 4.2.2 (5).
TEST_F(WebSocketAdmission, ASubprotocolIsOneThatWasOffered) {
  const Fields offer = handshake({{"Sec-WebSocket-Protocol", "a, b"}});
  ASSERT_TRUE(admitted(offer, {{"Sec-WebSocket-Protocol", "b"}}));
  EXPECT_NE(admission_->switching.find("Sec-WebSocket-Protocol: b\r\n"), std::string::npos);
  ASSERT_FALSE(admitted(offer, {{"Sec-WebSocket-Protocol", "c"}}));
  EXPECT_EQ(status(), 500);
}

// RFC 7692 7.1.2.1: what is sent is compressed once for all, in one window.
TEST_F(WebSocketAdmission, CompressionIsAgreedOnWhereTheWindowIsLargeEnough) {
  ASSERT_TRUE(admitted(handshake({{"Sec-WebSocket-Extensions", "permessage-deflate; server_max_window_bits=12"}})));
  EXPECT_TRUE(admission_->deflate);
  ASSERT_TRUE(admitted(handshake({{"Sec-WebSocket-Extensions", "permessage-deflate; server_max_window_bits=11"}})));
  EXPECT_FALSE(admission_->deflate);
  EXPECT_EQ(admission_->switching.find("Sec-WebSocket-Extensions"), std::string::npos);
  ASSERT_TRUE(admitted(
      handshake({{"Sec-WebSocket-Extensions", "permessage-deflate; server_max_window_bits=11, permessage-deflate"}})));
  EXPECT_TRUE(admission_->deflate);
}

}  // namespace
}  // namespace m0::held
