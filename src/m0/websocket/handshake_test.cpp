#include "m0/websocket/handshake.hpp"

#include "m0/websocket/handshake_test.hpp"

namespace m0::websocket {
namespace {

using testing::kSwitching;
using testing::Lines;
using testing::Request;

std::string outcome(const Lines& lines) { return Request(lines.bytes()).outcome(); }

TEST(Handshake, Plain) {
  EXPECT_EQ(outcome({}), "good");
  const Request request(Lines{}.bytes());
  ASSERT_TRUE(request.handshake());
  EXPECT_EQ(request.handshake()->key, "dGhlIHNhbXBsZSBub25jZQ==");
}

TEST(Handshake, WhatAsksForOne) {
  const auto asks = [](const Lines& lines) { return asks_for_websocket(Request(lines.bytes()).head()); };
  EXPECT_TRUE(asks({}));
  EXPECT_TRUE(asks({.upgrade = "upgrade: h2c, WebSocket\r\n", .connection = {}, .key = {}, .version = {}}));
  EXPECT_FALSE(asks({.upgrade = {}}));
  EXPECT_FALSE(asks({.upgrade = "Upgrade: h2c\r\n"}));
}

TEST(Handshake, Method) {
  EXPECT_EQ(outcome({.request = "POST /chat HTTP/1.1"}), "400 WebSocket handshake without GET");
  EXPECT_EQ(outcome({.request = "get /chat HTTP/1.1"}), "400 WebSocket handshake without GET");
  EXPECT_EQ(outcome({.request = "HEAD /chat HTTP/1.1"}), "400 WebSocket handshake without GET");
}

TEST(Handshake, HttpVersion) {
  EXPECT_EQ(outcome({.request = "GET /chat HTTP/1.0"}), "400 WebSocket handshake on HTTP/1.0");
  EXPECT_EQ(outcome({.request = "GET /chat HTTP/1.2"}), "good");  // served as 1.1
}

TEST(Handshake, Target) {
  EXPECT_EQ(outcome({.request = "GET /a/b?c=d HTTP/1.1"}), "good");
  EXPECT_EQ(outcome({.request = "GET http://server.example.com/chat HTTP/1.1"}), "good");
}

TEST(Handshake, Upgrade) {
  EXPECT_EQ(outcome({.upgrade = "UPGRADE: WebSocket\r\n"}), "good");
  EXPECT_EQ(outcome({.upgrade = "Upgrade: h2c, websocket\r\n"}), "good");
  EXPECT_EQ(outcome({.upgrade = "Upgrade: h2c\r\nUpgrade: websocket\r\n"}), "good");
  const std::string refused = "400 Upgrade does not name websocket";
  EXPECT_EQ(outcome({.upgrade = {}}), refused);
  EXPECT_EQ(outcome({.upgrade = "Upgrade:\r\n"}), refused);
  EXPECT_EQ(outcome({.upgrade = "Upgrade: websockets\r\n"}), refused);
  EXPECT_EQ(outcome({.upgrade = "Upgrade: websocket/13\r\n"}), refused);
  EXPECT_EQ(outcome({.upgrade = "Upgrade: web socket\r\n"}), refused);
  EXPECT_EQ(outcome({.upgrade = "X-Upgrade: websocket\r\n"}), refused);
}

TEST(Handshake, Connection) {
  EXPECT_EQ(outcome({.connection = "connection: keep-alive, UPGRADE\r\n"}), "good");
  EXPECT_EQ(outcome({.connection = "Connection: keep-alive\r\nConnection: Upgrade\r\n"}), "good");
  const std::string refused = "400 Connection does not name upgrade";
  EXPECT_EQ(outcome({.connection = {}}), refused);
  EXPECT_EQ(outcome({.connection = "Connection: keep-alive\r\n"}), refused);
  EXPECT_EQ(outcome({.connection = "Connection: upgrades\r\n"}), refused);
}

TEST(Handshake, Key) {
  EXPECT_EQ(outcome({.key = "sec-websocket-key:  AQIDBAUGBwgJCgsMDQ4PEA== \r\n"}), "good");
  const std::string missing = "400 not one Sec-WebSocket-Key";
  EXPECT_EQ(outcome({.key = {}}), missing);
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n"}), missing);
  EXPECT_EQ(outcome({.more = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"}), missing);
  for (const std::string_view key : {
           "",
           "AQIDBAUGBwgJCgsMDQ4P",          // 15 bytes
           "AQIDBAUGBwgJCgsMDQ4PEBE=",      // 17 bytes
           "AQIDBAUGBwgJCgsMDQ4PEA",        // not padded
           "AQIDBAUGBwgJCgsMDQ4PEA=",       //
           "AQIDBAUGBwgJCgsMDQ4PEB==",      // bits that are lost
           "AQIDBAUGBwgJCgsMDQ4P EA==",     // a space
           "AQIDBAUGBwgJCgsMDQ4-_A==",      // of another alphabet
           "AQIDBAUGBwgJCgsMDQ4PEA==, x",   // a list
           "\"AQIDBAUGBwgJCgsMDQ4PEA==\"",  // quoted
       }) {
    EXPECT_EQ(outcome({.key = "Sec-WebSocket-Key: " + std::string(key) + "\r\n"}), "400 malformed Sec-WebSocket-Key")
        << key;
  }
}

TEST(Handshake, Version) {
  for (const std::string_view version : {"12", "8", "0", "14", "013", "130", "1", "", "13, 8", "13;", "websocket"}) {
    EXPECT_EQ(outcome({.version = "Sec-WebSocket-Version: " + std::string(version) + "\r\n"}),
              "426 WebSocket version is not 13")
        << version;
  }
  EXPECT_EQ(outcome({.version = {}}), "426 WebSocket version is not 13");
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Version: 13\r\n"}), "400 more than one Sec-WebSocket-Version");
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Version: 8\r\n"}), "400 more than one Sec-WebSocket-Version");
}

// What another version's key looks like is not known: its client has to learn which version to speak.
TEST(Handshake, TheVersionIsLookedAtBeforeTheKey) {
  EXPECT_EQ(outcome({.key = {}, .version = "Sec-WebSocket-Version: 14\r\n"}), "426 WebSocket version is not 13");
}

TEST(Handshake, Body) {
  EXPECT_EQ(outcome({.more = "Content-Length: 0\r\n"}), "good");
  EXPECT_EQ(outcome({.more = "Content-Length: 1\r\n"}), "400 WebSocket handshake with a body");
  EXPECT_EQ(outcome({.more = "Transfer-Encoding: chunked\r\n"}), "400 WebSocket handshake with a body");
}

TEST(Handshake, Origin) {
  EXPECT_EQ(outcome({.more = "Origin: https://example.com\r\n"}), "good");
  EXPECT_EQ(outcome({.more = "Origin: https://example.com\r\norigin: https://other\r\n"}), "400 more than one Origin");
}

TEST(Handshake, Subprotocols) {
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Protocol: chat\r\n"}), "good [chat]");
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Protocol: chat,superchat ,\tv2.x\r\n"}), "good [chat] [superchat] [v2.x]");
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Protocol: b\r\nSec-WebSocket-Protocol: a, c\r\n"}), "good [b] [a] [c]");
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Protocol: a, A\r\n"}), "good [a] [A]");
  for (const std::string_view offers : {"", ",", "a,", ",a", "a,,b", "a b", "a/b", "\"a\"", "a;b", "\xc3\xa4"}) {
    EXPECT_EQ(outcome({.more = "Sec-WebSocket-Protocol: " + std::string(offers) + "\r\n"}),
              "400 malformed Sec-WebSocket-Protocol")
        << offers;
  }
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Protocol: a, b, a\r\n"}), "400 subprotocol offered twice");
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: a\r\n"}),
            "400 subprotocol offered twice");
}

TEST(Handshake, ManySubprotocols) {
  std::string offers = "Sec-WebSocket-Protocol: p0";
  std::string expected = "good [p0]";
  for (std::size_t i = 1; i < kMaxSubprotocols; ++i) {
    offers += ",p" + std::to_string(i);
    expected += " [p" + std::to_string(i) + ']';
  }
  EXPECT_EQ(outcome({.more = offers + "\r\n"}), expected);
  EXPECT_EQ(outcome({.more = offers + ",one-more\r\n"}), "400 too many subprotocols");
}

TEST(Handshake, Extensions) {
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"}),
            "good deflate");
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Extensions: a\r\nsec-websocket-extensions: permessage-deflate\r\n"}),
            "good deflate");
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Extensions: permessage-deflate; unknown\r\n"}), "good");
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Extensions: a, b; c=d\r\n"}), "good");
  EXPECT_EQ(outcome({.more = "Sec-WebSocket-Extensions: permessage-deflate;\r\n"}),
            "400 malformed Sec-WebSocket-Extensions");
}

TEST(Handshake, WithoutCompressionNothingIsAgreedOn) {
  const std::string bytes = Lines{.more = "Sec-WebSocket-Extensions: permessage-deflate\r\n"}.bytes();
  EXPECT_EQ(Request(bytes, std::nullopt).outcome(), "good");
  EXPECT_EQ(Request(bytes, std::nullopt).answer(), kSwitching);
  // It is still looked at.
  EXPECT_EQ(Request(Lines{.more = "Sec-WebSocket-Extensions: ;\r\n"}.bytes(), std::nullopt).outcome(),
            "400 malformed Sec-WebSocket-Extensions");
}

// -- the answer

TEST(HandshakeAnswer, AcceptValue) {
  EXPECT_EQ(accept_value("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(accept_value("x3JJHMbDL1EzLkh9GBhXDw=="), "HSmrc0sMlYUkAGmm5OPpG2HaGWk=");
}

TEST(HandshakeAnswer, Plain) { EXPECT_EQ(Request(Lines{}.bytes()).answer(), kSwitching); }

TEST(HandshakeAnswer, ASubprotocolThatWasOffered) {
  const Request request(Lines{.more = "Sec-WebSocket-Protocol: chat, superchat\r\n"}.bytes());
  EXPECT_EQ(request.answer("superchat"), kSwitching + "Sec-WebSocket-Protocol: superchat\r\n");
  EXPECT_EQ(request.answer(), kSwitching);
}

TEST(HandshakeAnswer, ASubprotocolThatWasNot) {
  const Request request(Lines{.more = "Sec-WebSocket-Protocol: chat\r\n"}.bytes());
  EXPECT_EQ(request.answer("Chat"), "not offered");
  EXPECT_EQ(request.answer("superchat"), "not offered");
  EXPECT_EQ(Request(Lines{}.bytes()).answer("chat"), "not offered");
}

TEST(HandshakeAnswer, Compression) {
  const Request request(
      Lines{.more = "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10\r\n"}.bytes());
  EXPECT_EQ(request.answer(), kSwitching +
                                  "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; "
                                  "client_no_context_takeover; server_max_window_bits=10\r\n");
}

TEST(HandshakeAnswer, FieldsOfTheApplication) {
  http::FieldList others;
  others.add("Set-Cookie", "a=b");
  others.add("Sec-WebSocket-Accept", "forged");
  others.add("sec-websocket-extensions", "permessage-deflate");
  others.add("Connection", "close");
  others.add("Upgrade", "h2c");
  others.add("Keep-Alive", "timeout=1");
  others.add("Content-Length", "5");
  others.add("Transfer-Encoding", "chunked");
  others.add("Trailer", "x");
  others.add("Sec-WebSocket", "not of the family");
  others.add("Server", "m0serve");
  EXPECT_EQ(Request(Lines{}.bytes()).answer({}, others),
            kSwitching + "Set-Cookie: a=b\r\nSec-WebSocket: not of the family\r\nServer: m0serve\r\n");
}

TEST(HandshakeAnswer, Appends) {
  const Request request(Lines{}.bytes());
  std::string out = "before ";
  ASSERT_TRUE(append_switching_protocols(out, *request.handshake(), {}, {}));
  EXPECT_EQ(out, "before " + kSwitching + "\r\n");
}

}  // namespace
}  // namespace m0::websocket
