// RFC 6455 and RFC 7692, requirement by requirement: what they demand of a server as far as bytes show it, each with a
// case. What a client or a proxy has to do is named only where a server has to notice that it was not done.
//
// Rows whose input are frames run whole, split in two at every byte, and byte by byte (cases_test.hpp says how events
// read). Handshakes give "good" with what was offered, or the refusal; or the head of the whole answer. What we send is
// compared in hexadecimal.

#include <set>

#include "m0/websocket/cases_test.hpp"
#include "m0/websocket/close_code.hpp"
#include "m0/websocket/handshake_test.hpp"

namespace m0::websocket {
namespace {

using namespace testing;
using namespace std::string_literals;

struct Input {
  enum class Kind { Frames, Handshake, Answer, Sent };
  Kind kind;
  std::string bytes;
  bool deflate = false;
  std::size_t max_message = kDefaultMaxMessage;
  std::string subprotocol = {};
};

struct Row {
  std::string section;
  std::string demand;
  Input input;
  std::string outcome;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.section << ": " << row.demand; }

// -- inputs

Input frames(std::string_view bytes) { return {.kind = Input::Kind::Frames, .bytes = std::string(bytes)}; }
Input deflated(std::string_view bytes) {
  return {.kind = Input::Kind::Frames, .bytes = std::string(bytes), .deflate = true};
}
Input limited(std::size_t max_message, std::string_view bytes, bool deflate = false) {
  return {.kind = Input::Kind::Frames, .bytes = std::string(bytes), .deflate = deflate, .max_message = max_message};
}
Input handshake(const Lines& lines) { return {.kind = Input::Kind::Handshake, .bytes = lines.bytes()}; }
Input protocols(std::string_view offers) {
  return handshake({.more = "Sec-WebSocket-Protocol: " + std::string(offers) + "\r\n"});
}
Input extensions(std::string_view offers) {
  return handshake({.more = "Sec-WebSocket-Extensions: " + std::string(offers) + "\r\n"});
}
Input answer(const Lines& lines, std::string_view subprotocol = {}) {
  return {.kind = Input::Kind::Answer, .bytes = lines.bytes(), .subprotocol = std::string(subprotocol)};
}
Input answer_to_offer(std::string_view offer) {
  return answer({.more = "Sec-WebSocket-Extensions: permessage-deflate" + std::string(offer) + "\r\n"});
}

Input sent(std::string_view bytes) { return {.kind = Input::Kind::Sent, .bytes = std::string(bytes)}; }
Input sent_frame(FrameKind kind, std::string_view payload) {
  std::string out;
  append_frame(out, kind, payload);
  return sent(out);
}
Input sent_header(FrameKind kind, std::uint64_t length) {
  std::string out;
  append_header(out, kind, length);
  return sent(out);
}
Input sent_close(std::uint16_t code, std::string_view reason = {}) {
  std::string out;
  append_close(out, code, reason);
  return sent(out);
}
Input sent_compressed(std::string_view message) {
  Deflater deflater;
  std::string payload;
  deflater.compress(message, payload);
  return sent(payload);
}

// -- outcomes

std::string agreed(std::string_view more = {}) {
  return kSwitching +
         "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover" +
         std::string(more) + "\r\n";
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (!out.empty()) out += ' ';
    out += "0123456789abcdef"[byte >> 4U];
    out += "0123456789abcdef"[byte & 15U];
  }
  return out;
}

std::string outcome_of(const Input& input) {
  switch (input.kind) {
    case Input::Kind::Handshake: return Request(input.bytes).outcome();
    case Input::Kind::Answer: return Request(input.bytes).answer(input.subprotocol);
    case Input::Kind::Sent: return hex(input.bytes);
    case Input::Kind::Frames: break;
  }
  return "frames are compared in every split";
}

// A message of RFC 7692 7.2.3.1.
const std::string kHello = "\xf2\x48\xcd\xc9\xc9\x07\x00"s;
const std::string kGreek = "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5";

// -- RFC 6455

const std::vector<Row> kOpeningHandshake = {
    {"6455 4.1 (2)", "the method is GET", handshake({.request = "POST / HTTP/1.1"}),
     "400 WebSocket handshake without GET"},
    {"6455 4.1 (2)", "the version is at least 1.1", handshake({.request = "GET / HTTP/1.0"}),
     "400 WebSocket handshake on HTTP/1.0"},
    {"6455 4.1 (3)", "the target may have a query", handshake({.request = "GET /chat?room=1 HTTP/1.1"}), "good"},
    {"6455 4.1 (3)", "the target may be an absolute URI",
     handshake({.request = "GET http://server.example.com/chat HTTP/1.1"}), "good"},
    {"6455 4.1 (4)", "there is a Host", handshake({.host = {}}), "400 no Host"},
    {"6455 4.1 (5)", "there is an Upgrade", handshake({.upgrade = {}}), "400 Upgrade does not name websocket"},
    {"6455 4.1 (5)", "Upgrade includes websocket", handshake({.upgrade = "Upgrade: h2c\r\n"}),
     "400 Upgrade does not name websocket"},
    {"6455 4.1 (5)", "Upgrade may include more", handshake({.upgrade = "Upgrade: h2c, websocket\r\n"}), "good"},
    {"6455 4.2.1 (3)", "websocket in any case", handshake({.upgrade = "Upgrade: WEBSocket\r\n"}), "good"},
    {"6455 4.1 (6)", "there is a Connection", handshake({.connection = {}}), "400 Connection does not name upgrade"},
    {"6455 4.1 (6)", "Connection includes Upgrade", handshake({.connection = "Connection: keep-alive\r\n"}),
     "400 Connection does not name upgrade"},
    {"6455 4.1 (6)", "Connection may include more", handshake({.connection = "Connection: keep-alive, Upgrade\r\n"}),
     "good"},
    {"6455 4.2.1 (4)", "Upgrade in any case", handshake({.connection = "Connection: uPGRADE\r\n"}), "good"},
    {"6455 4.1 (7)", "there is a Sec-WebSocket-Key", handshake({.key = {}}), "400 not one Sec-WebSocket-Key"},
    {"6455 4.2.1 (5)", "the key decodes to 16 bytes and not to 15",
     handshake({.key = "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4P\r\n"}), "400 malformed Sec-WebSocket-Key"},
    {"6455 4.2.1 (5)", "the key decodes to 16 bytes and not to 17",
     handshake({.key = "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEBE=\r\n"}), "400 malformed Sec-WebSocket-Key"},
    {"6455 4.2.1 (5)", "the key is base64", handshake({.key = "Sec-WebSocket-Key: AQIDBAUGBwgJCgsM!Q4PEA==\r\n"}),
     "400 malformed Sec-WebSocket-Key"},
    {"6455 4.2.1 (5)", "the key is padded", handshake({.key = "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA\r\n"}),
     "400 malformed Sec-WebSocket-Key"},
    {"6455 11.3.1", "the key is not sent twice", handshake({.more = "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n"}),
     "400 not one Sec-WebSocket-Key"},
    {"6455 4.1 (8)", "a browser sends its Origin", handshake({.more = "Origin: http://example.com\r\n"}), "good"},
    {"6455 4.2.1 (7)", "without Origin it is no browser", handshake({}), "good"},
    {"6455 4.1 (9)", "the version is 13", handshake({.version = "Sec-WebSocket-Version: 8\r\n"}),
     "426 WebSocket version is not 13"},
    {"6455 4.2.1 (6)", "there is a Sec-WebSocket-Version", handshake({.version = {}}),
     "426 WebSocket version is not 13"},
    {"6455 4.4", "a version that is not known is answered with the one that is",
     handshake({.version = "Sec-WebSocket-Version: 25\r\n"}), "426 WebSocket version is not 13"},
    {"6455 11.3.5", "the version is not sent twice", handshake({.more = "Sec-WebSocket-Version: 13\r\n"}),
     "400 more than one Sec-WebSocket-Version"},
    {"6455 4.1 (10)", "subprotocols are a list", protocols("chat, superchat"), "good [chat] [superchat]"},
    {"6455 4.1 (10)", "subprotocols are not empty", protocols("chat,"), "400 malformed Sec-WebSocket-Protocol"},
    {"6455 4.1 (10)", "subprotocols are tokens", protocols("chat, super chat"), "400 malformed Sec-WebSocket-Protocol"},
    {"6455 4.1 (10)", "subprotocols have no separators", protocols("chat/2"), "400 malformed Sec-WebSocket-Protocol"},
    {"6455 4.1 (10)", "subprotocols are unique", protocols("chat, b, chat"), "400 subprotocol offered twice"},
    {"6455 11.3.4", "subprotocols may come in several fields",
     handshake({.more = "Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: b\r\n"}), "good [a] [b]"},
    {"6455 11.3.2", "extensions may come in several fields",
     handshake({.more = "Sec-WebSocket-Extensions: a\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"}),
     "good deflate"},
    {"6455 9.1", "extensions may have parameters", extensions("a; b; c=d, permessage-deflate"), "good deflate"},
    {"6455 9.1", "a value may be quoted", extensions("a; b=\"c\", permessage-deflate"), "good deflate"},
    {"6455 9.1", "a quoted value is a token when unquoted", extensions("a; b=\"c d\""),
     "400 malformed Sec-WebSocket-Extensions"},
    {"6455 9.1", "a list has elements", extensions(""), "400 malformed Sec-WebSocket-Extensions"},
    {"6455 9.1", "an extension has a name", extensions("; a"), "400 malformed Sec-WebSocket-Extensions"},
    {"6455 9.1", "a parameter has a name", extensions("a; =b"), "400 malformed Sec-WebSocket-Extensions"},
    {"6455 9.1", "a parameter with = has a value", extensions("a; b="), "400 malformed Sec-WebSocket-Extensions"},
    {"6455 9.1", "elements are separated by commas", extensions("a b"), "400 malformed Sec-WebSocket-Extensions"},
    {"6455 4.2.1", "fields that are not known are passed over", handshake({.more = "X-Other: a\r\n"}), "good"},
    {"6455 4.2.2 (5)", "the answer and its accept value", answer({}), kSwitching},
    {"6455 4.2.2 (5)", "whitespace around the key is not part of it",
     answer({.key = "Sec-WebSocket-Key: \t dGhlIHNhbXBsZSBub25jZQ== \t\r\n"}), kSwitching},
    {"6455 4.2.2 (5)", "a subprotocol that was offered", answer({.more = "Sec-WebSocket-Protocol: a, b\r\n"}, "b"),
     kSwitching + "Sec-WebSocket-Protocol: b\r\n"},
    {"6455 4.2.2 (5)", "no subprotocol that was not offered", answer({.more = "Sec-WebSocket-Protocol: a\r\n"}, "b"),
     "not offered"},
    {"6455 4.2.2 (5)", "no subprotocol where none was offered", answer({}, "b"), "not offered"},
    {"6455 4.2.2 (5)", "a subprotocol is compared with its case",
     answer({.more = "Sec-WebSocket-Protocol: a\r\n"}, "A"), "not offered"},
    {"6455 4.2.2 (5)", "the server may choose no subprotocol", answer({.more = "Sec-WebSocket-Protocol: a\r\n"}),
     kSwitching},
    {"6455 9.1", "no extension is answered that was not offered", answer({}), kSwitching},
    {"6455 9.1", "no extension is answered that is not known", answer({.more = "Sec-WebSocket-Extensions: mux\r\n"}),
     kSwitching},
};

const std::vector<Row> kFraming = {
    {"6455 5.1", "a frame of a client that is not masked ends the connection", frames("\x81\x05Hello"),
     "1002 frame is not masked"},
    {"6455 5.1", "so does an empty one", frames("\x81\x00"s), "1002 frame is not masked"},
    {"6455 5.1", "so does a control frame", frames("\x89\x00"s), "1002 frame is not masked"},
    {"6455 5.1", "and a continuation", frames(text_begins("a") + "\x80\x00"s), "1002 frame is not masked"},
    {"6455 5.1", "a server's frames are not masked", sent_frame({Opcode::Text}, "Hello"), "81 05 48 65 6c 6c 6f"},
    {"6455 5.1", "nor its control frames", sent_frame({Opcode::Ping}, "a"), "89 01 61"},
    {"6455 5.2", "RSV1 is 0 where no extension gives it a meaning", frames(frame(0xc1, "a")),
     "1002 compression that was not agreed on"},
    {"6455 5.2", "RSV2 is 0", frames(frame(0xa1, "a")), "1002 reserved bit"},
    {"6455 5.2", "RSV3 is 0", frames(frame(0x91, "a")), "1002 reserved bit"},
    {"6455 5.2", "RSV2 and RSV3 are 0", frames(frame(0xb1, "a")), "1002 reserved bit"},
    {"6455 5.2", "RSV2 is 0 in a control frame", frames(frame(0xa9)), "1002 reserved bit"},
    {"6455 5.2", "RSV3 is 0 in a close frame", frames(frame(0x98)), "1002 reserved bit"},
    {"6455 5.2", "RSV2 is 0 in a continuation", frames(text_begins("a") + frame(0xa0, "b")), "1002 reserved bit"},
    {"6455 5.2", "opcode 3 is reserved", frames(frame(0x83)), "1002 reserved opcode"},
    {"6455 5.2", "opcode 4 is reserved", frames(frame(0x84)), "1002 reserved opcode"},
    {"6455 5.2", "opcode 5 is reserved", frames(frame(0x85)), "1002 reserved opcode"},
    {"6455 5.2", "opcode 6 is reserved", frames(frame(0x86)), "1002 reserved opcode"},
    {"6455 5.2", "opcode 7 is reserved", frames(frame(0x87)), "1002 reserved opcode"},
    {"6455 5.2", "opcode 11 is reserved", frames(frame(0x8b)), "1002 reserved opcode"},
    {"6455 5.2", "opcode 12 is reserved", frames(frame(0x8c)), "1002 reserved opcode"},
    {"6455 5.2", "opcode 13 is reserved", frames(frame(0x8d)), "1002 reserved opcode"},
    {"6455 5.2", "opcode 14 is reserved", frames(frame(0x8e)), "1002 reserved opcode"},
    {"6455 5.2", "opcode 15 is reserved", frames(frame(0x8f)), "1002 reserved opcode"},
    {"6455 5.2", "a reserved opcode inside a message", frames(text_begins("a") + frame(0x83)), "1002 reserved opcode"},
    {"6455 5.2", "a length of 0", frames(text("")), "text()"},
    {"6455 5.2", "a length of 1", frames(text("a")), "text(a)"},
    {"6455 5.2", "a length of 125 in seven bits", frames(text(std::string(125, 'a'))),
     "text(" + std::string(125, 'a') + ")"},
    {"6455 5.2", "a length of 126 in two bytes", frames(binary(std::string(126, 'a'))),
     "binary(" + std::string(126, 'a') + ")"},
    {"6455 5.2", "a length of 127 in two bytes", frames(binary(std::string(127, 'a'))),
     "binary(" + std::string(127, 'a') + ")"},
    {"6455 5.2", "a length of 65535 in two bytes", frames(binary(std::string(65535, 'a'))),
     said("binary", std::string(65535, 'a'))},
    {"6455 5.2", "a length of 65536 in eight bytes", frames(binary(std::string(65536, 'a'))),
     said("binary", std::string(65536, 'a'))},
    {"6455 5.2", "the most significant of 64 bits is 0", frames(bytes_of({0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0})),
     "1002 length of more than 63 bits"},
    {"6455 5.2", "0 in two bytes is not the minimal number of bytes", frames(bytes_of({0x81, 0xfe, 0, 0})),
     "1002 length is not in its shortest form"},
    {"6455 5.2", "nor is 125 in two bytes", frames(bytes_of({0x81, 0xfe, 0, 125})),
     "1002 length is not in its shortest form"},
    {"6455 5.2", "nor 125 in eight bytes", frames(bytes_of({0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 125})),
     "1002 length is not in its shortest form"},
    {"6455 5.2", "nor 65535 in eight bytes", frames(bytes_of({0x81, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff})),
     "1002 length is not in its shortest form"},
    {"6455 5.2", "a server writes 125 in seven bits", sent_header({Opcode::Text}, 125), "81 7d"},
    {"6455 5.2", "a server writes 126 in two bytes", sent_header({Opcode::Text}, 126), "81 7e 00 7e"},
    {"6455 5.2", "a server writes 65535 in two bytes", sent_header({Opcode::Binary}, 65535), "82 7e ff ff"},
    {"6455 5.2", "a server writes 65536 in eight bytes", sent_header({Opcode::Binary}, 65536),
     "82 7f 00 00 00 00 00 01 00 00"},
    {"6455 5.3", "a mask of zeros is a mask", frames("\x81\x83\x00\x00\x00\x00"s + "abc"), "text(abc)"},
    {"6455 5.3", "any mask is removed", frames("\x82\x85\x61\x62\x63\xff"s + "abc\xff" + "a"s),
     "binary(\x00\x00\x00\x00\x00)"s},
    {"6455 5.3", "each frame has a mask of its own",
     frames("\x01\x82\x20\x00\x00\x00"s + "Ab" + "\x80\x82\x00\x20\x00\x00"s + "cD"), "text(abcd)"},
    {"6455 5.4", "a message of one frame", frames(text("Hello")), "text(Hello)"},
    {"6455 5.4", "a message of two frames", frames(text_begins("Hel") + ends("lo")), "text(Hello)"},
    {"6455 5.4", "a message of many frames",
     frames(binary_begins("H") + goes_on("e") + goes_on("l") + goes_on("l") + ends("o")), "binary(Hello)"},
    {"6455 5.4", "the type of a message is that of its first frame", frames(binary_begins("\xff") + ends("\xfe")),
     "binary(\xff\xfe)"},
    {"6455 5.4", "control frames may come inside a message",
     frames(text_begins("Hel") + ping("p") + pong("q") + ends("lo")), "ping(p); pong(q); text(Hello)"},
    {"6455 5.4", "between any of its frames",
     frames(text_begins("a") + ping("1") + goes_on("b") + ping("2") + ends("c")), "ping(1); ping(2); text(abc)"},
    {"6455 5.4", "a ping is not fragmented", frames(frame(0x09, "a")), "1002 fragmented control frame"},
    {"6455 5.4", "a pong is not fragmented", frames(frame(0x0a, "a")), "1002 fragmented control frame"},
    {"6455 5.4", "a close is not fragmented", frames(frame(0x08)), "1002 fragmented control frame"},
    {"6455 5.4", "frames of one message are not mixed with those of another", frames(text_begins("a") + text("b")),
     "1002 message inside a message"},
    {"6455 5.4", "nor with the first of another", frames(text_begins("a") + binary_begins("b")),
     "1002 message inside a message"},
    {"6455 5.4", "nor behind its second frame", frames(text_begins("a") + goes_on("b") + binary("c")),
     "1002 message inside a message"},
    {"6455 5.4", "nothing is continued that did not begin", frames(ends("a")), "1002 continuation of no message"},
    {"6455 5.4", "nor by a frame that is not the last", frames(goes_on("a")), "1002 continuation of no message"},
    {"6455 5.4", "nothing is continued that has ended", frames(text_begins("a") + ends("b") + ends("c")),
     "text(ab); 1002 continuation of no message"},
    {"6455 5.4", "nor behind a message of one frame", frames(text("a") + ends("b")),
     "text(a); 1002 continuation of no message"},
    {"6455 5.4", "fragments may be empty", frames(text_begins("") + goes_on("") + ends("")), "text()"},
    {"6455 5.4", "fragments may have any size", frames(text_begins("a") + goes_on(std::string(200, 'b')) + ends("")),
     said("text", "a" + std::string(200, 'b'))},
    {"6455 5.4", "a server's first fragment", sent_frame({.opcode = Opcode::Text, .fin = false}, "Hel"),
     "01 03 48 65 6c"},
    {"6455 5.4", "a server's last fragment", sent_frame({Opcode::Continuation}, "lo"), "80 02 6c 6f"},
    {"6455 5.7", "Hello, masked", frames("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "text(Hello)"},
    {"6455 5.7", "a ping and its payload", frames("\x89\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "ping(Hello)"},
    {"6455 5.7", "256 bytes, not masked", sent_header({Opcode::Binary}, 256), "82 7e 01 00"},
    {"6455 5.8", "without an extension, payload is the message", frames(binary("\x00\x01"s)), "binary(\x00\x01)"s},
};

const std::vector<Row> kControlFrames = {
    {"6455 5.5", "a ping has at most 125 bytes", frames(ping(std::string(126, 'a'))), "1002 control frame is too long"},
    {"6455 5.5", "a pong has at most 125 bytes", frames(pong(std::string(126, 'a'))), "1002 control frame is too long"},
    {"6455 5.5", "a close has at most 125 bytes", frames(close(1000, std::string(124, 'a'))),
     "1002 control frame is too long"},
    {"6455 5.5", "nor a length of eight bytes", frames("\x89\xff"), "1002 control frame is too long"},
    {"6455 5.5", "a ping of 125 bytes", frames(ping(std::string(125, 'a'))), "ping(" + std::string(125, 'a') + ")"},
    {"6455 5.5.1", "a close may be empty", frames(frame(0x88)), "close(1005)"},
    {"6455 5.5.1", "a body begins with a code of two bytes", frames(frame(0x88, "a")), "1002 close frame of one byte"},
    {"6455 5.5.1", "in network byte order", frames(frame(0x88, "\x03\xe9")), "close(1001)"},
    {"6455 5.5.1", "and goes on with UTF-8", frames(close(1000, kGreek)), "close(1000 " + kGreek + ")"},
    {"6455 5.5.1", "and nothing else", frames(close(1000, "\xce\xba\xff")), "1007 close reason is not UTF-8"},
    {"6455 5.5.1", "nor half a character", frames(close(1000, "\xce")), "1007 close reason is not UTF-8"},
    {"6455 5.5.1", "a client's close is masked", frames("\x88\x02\x03\xe8"), "1002 frame is not masked"},
    {"6455 5.5.1", "nothing comes behind a close", frames(close(1000) + text("a")), "close(1000)"},
    {"6455 5.5.1", "not even what breaks the protocol", frames(close(1000) + "\x83\x00"s), "close(1000)"},
    {"6455 5.5.1", "nor the rest of a message", frames(text_begins("a") + close(1000) + ends("b")), "close(1000)"},
    {"6455 5.5.1", "a close is answered with its code", sent_close(1000), "88 02 03 e8"},
    {"6455 5.5.1", "and one without a code with none", sent_close(close_code::kNoStatus), "88 00"},
    {"6455 5.5.1", "a reason we send is UTF-8", sent_close(1000, "a\xff"), "88 03 03 e8 61"},
    {"6455 5.5", "a close we send has at most 125 bytes", sent_close(1000, std::string(200, 'a')),
     hex("\x88\x7d\x03\xe8" + std::string(123, 'a'))},
    {"6455 5.5.2", "a ping may be empty", frames(ping()), "ping()"},
    {"6455 5.5.2", "a ping may hold any bytes", frames(ping("\x00\xff"s)), "ping(\x00\xff)"s},
    {"6455 5.5.3", "a pong holds what the ping held", sent_frame({Opcode::Pong}, "\x01\xff"), "8a 02 01 ff"},
    {"6455 5.5.3", "an empty ping has an empty pong", sent_frame({Opcode::Pong}, ""), "8a 00"},
    {"6455 5.5.3", "a pong may come unasked", frames(pong("a") + text("b")), "pong(a); text(b)"},
    {"6455 5.5.3", "pings are given in their order", frames(ping("1") + ping("2") + ping("3")),
     "ping(1); ping(2); ping(3)"},
};

const std::vector<Row> kText = {
    {"6455 5.6", "text is UTF-8", frames(text(kGreek)), "text(" + kGreek + ")"},
    {"6455 5.6", "a frame may end inside a character",
     frames(text_begins(kGreek.substr(0, 3)) + ends(kGreek.substr(3))), "text(" + kGreek + ")"},
    {"6455 5.6", "every frame may", frames(text_begins("\xf0") + goes_on("\x9f") + goes_on("\x98") + ends("\x80")),
     "text(\xf0\x9f\x98\x80)"},
    {"6455 5.6", "the whole message may not", frames(text("\xce")), "1007 text ends inside a character"},
    {"6455 5.6", "nor in several frames", frames(text_begins("\xce\xba\xe1") + ends("\xbd")),
     "1007 text ends inside a character"},
    {"6455 5.6", "binary may hold any bytes", frames(binary("\xff\xfe\xc0\x80\x00"s)), "binary(\xff\xfe\xc0\x80\x00)"s},
    {"6455 8.1", "a byte that begins nothing", frames(text("a\xff")), "1007 text is not UTF-8"},
    {"6455 8.1", "a continuation byte alone", frames(text("\x80")), "1007 text is not UTF-8"},
    {"6455 8.1", "a head without its continuation", frames(text("\xce ")), "1007 text is not UTF-8"},
    {"6455 8.1", "a surrogate", frames(text("\xce\xba\xed\xa0\x80")), "1007 text is not UTF-8"},
    {"6455 8.1", "a pair of surrogates", frames(text("\xed\xa0\xbd\xed\xb8\x80")), "1007 text is not UTF-8"},
    {"6455 8.1", "an overlong form of two bytes", frames(text("\xc0\xaf")), "1007 text is not UTF-8"},
    {"6455 8.1", "an overlong form of three bytes", frames(text("\xe0\x80\xaf")), "1007 text is not UTF-8"},
    {"6455 8.1", "an overlong form of four bytes", frames(text("\xf0\x80\x80\xaf")), "1007 text is not UTF-8"},
    {"6455 8.1", "an overlong NUL", frames(text("\xc0\x80")), "1007 text is not UTF-8"},
    {"6455 8.1", "above U+10FFFF", frames(text("\xf4\x90\x80\x80")), "1007 text is not UTF-8"},
    {"6455 8.1", "a form of five bytes", frames(text("\xf8\x88\x80\x80\x80")), "1007 text is not UTF-8"},
    {"6455 8.1", "a form of six bytes", frames(text("\xfc\x84\x80\x80\x80\x80")), "1007 text is not UTF-8"},
    {"6455 8.1", "the first character of each length", frames(text("\0\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80"s)),
     "text(\0\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80)"s},
    {"6455 8.1", "the last character of each length", frames(text("\x7f\xdf\xbf\xef\xbf\xbf\xf4\x8f\xbf\xbf")),
     "text(\x7f\xdf\xbf\xef\xbf\xbf\xf4\x8f\xbf\xbf)"},
    {"6455 8.1", "the characters around the surrogates", frames(text("\xed\x9f\xbf\xee\x80\x80")),
     "text(\xed\x9f\xbf\xee\x80\x80)"},
    {"6455 8.1", "noncharacters are characters", frames(text("\xef\xbf\xbe")), "text(\xef\xbf\xbe)"},
    {"6455 8.1", "a byte order mark is one too", frames(text("\xef\xbb\xbf")), "text(\xef\xbb\xbf)"},
    {"6455 8.1", "at once, before the frame has ended",
     frames(text("\xce\xba\xed\xa0\x80" + std::string(50, 'a')).substr(0, 10)), "1007 text is not UTF-8"},
    {"6455 8.1", "at once, before the message has ended", frames(text_begins("\xf4\x90")), "1007 text is not UTF-8"},
    {"6455 8.1", "also when the bad byte is the next frame's", frames(text_begins("\xf4") + goes_on("\x90")),
     "1007 text is not UTF-8"},
    {"6455 8.1", "also behind a ping", frames(text_begins("\xf4") + ping("a") + goes_on("\x90")),
     "ping(a); 1007 text is not UTF-8"},
};

Row code_row(int code, bool allowed) {
  return {"6455 7.4", "code " + std::to_string(code) + (allowed ? " may be sent" : " may not be sent"),
          frames(close(code)),
          allowed ? "close(" + std::to_string(code) + ")" : std::string("1002 close code is not to be sent")};
}

std::vector<Row> code_rows() {
  std::vector<Row> rows;
  for (const int code :
       {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999}) {
    rows.push_back(code_row(code, true));
  }
  for (const int code : {0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535}) {
    rows.push_back(code_row(code, false));
  }
  return rows;
}

const std::vector<Row> kFailing = {
    {"6455 7.1.7", "nothing is read behind a failure", frames(frame(0x83) + text("a") + close(1000)),
     "1002 reserved opcode"},
    {"6455 7.1.7", "what was whole before it counts", frames(text("a") + ping("b") + frame(0x83)),
     "text(a); ping(b); 1002 reserved opcode"},
    {"6455 7.1.5", "a close without a code counts as 1005", frames(frame(0x88)), "close(1005)"},
    {"6455 7.1.6", "a close without a reason has an empty one", frames(close(1000)), "close(1000)"},
    {"6455 7.4.1", "1002 is for a broken protocol", frames(frame(0x8b)), "1002 reserved opcode"},
    {"6455 7.4.1", "1007 is for text that is none", frames(text("\xff")), "1007 text is not UTF-8"},
    {"6455 7.4.1", "1009 is for a message that is too big", limited(5, text("Hello!")), "1009 message too big"},
    {"6455 10.4", "a frame is limited", limited(5, binary("Hello!")), "1009 message too big"},
    {"6455 10.4", "so is a message of several", limited(5, binary_begins("Hel") + ends("lo!")), "1009 message too big"},
    {"6455 10.4", "a message at the limit", limited(5, binary_begins("Hel") + ends("lo")), "binary(Hello)"},
    {"6455 10.4", "by what it announces and before it comes",
     frames(bytes_of({0x82, 0xff, 0, 0, 0, 0xff, 0, 0, 0, 0, 1, 2, 3, 4})), "1009 message too big"},
    {"6455 10.7", "what is no frame at all", frames("GET / HTTP/1.1\r\n\r\n"), "1002 reserved opcode"},
    {"6455 7.4.1", "close codes in a close we send", sent_close(1011, "x"), "88 03 03 f3 78"},
};

// -- RFC 7692

const std::vector<Row> kDeflateNegotiation = {
    {"7692 5", "an offer is accepted", answer_to_offer(""), agreed()},
    {"7692 5", "nothing is agreed on that was not offered", answer({}), kSwitching},
    {"7692 5.1", "the first offer that can be met is taken",
     answer(
         {.more = "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10, permessage-deflate\r\n"}),
     agreed("; server_max_window_bits=10")},
    {"7692 5.1", "the next one is looked at when one is declined",
     answer({.more = "Sec-WebSocket-Extensions: permessage-deflate; unknown, permessage-deflate\r\n"}), agreed()},
    {"7692 5.1", "all may be declined", answer_to_offer("; unknown"), kSwitching},
    {"7692 7", "a parameter that is not defined declines", answer_to_offer("; unknown=1"), kSwitching},
    {"7692 7", "a parameter with a bad value declines", answer_to_offer("; server_max_window_bits=x"), kSwitching},
    {"7692 7", "a parameter that is said twice declines",
     answer_to_offer("; server_no_context_takeover; server_no_context_takeover"), kSwitching},
    {"7692 7", "so does each of the others said twice: client_no_context_takeover",
     answer_to_offer("; client_no_context_takeover; client_no_context_takeover"), kSwitching},
    {"7692 7", "so does each of the others said twice: server_max_window_bits",
     answer_to_offer("; server_max_window_bits=10; server_max_window_bits=11"), kSwitching},
    {"7692 7", "so does each of the others said twice: client_max_window_bits",
     answer_to_offer("; client_max_window_bits; client_max_window_bits=11"), kSwitching},
    {"7692 7.1.1.1", "server_no_context_takeover is answered", answer_to_offer("; server_no_context_takeover"),
     agreed()},
    {"7692 7.1.1.1", "server_no_context_takeover has no value", answer_to_offer("; server_no_context_takeover=1"),
     kSwitching},
    {"7692 7.1.1.2", "client_no_context_takeover is answered", answer_to_offer("; client_no_context_takeover"),
     agreed()},
    {"7692 7.1.1.2", "client_no_context_takeover has no value", answer_to_offer("; client_no_context_takeover=1"),
     kSwitching},
    {"7692 7.1.2", "a window has no leading zeros", answer_to_offer("; server_max_window_bits=09"), kSwitching},
    {"7692 7.1.2", "a window has at most 15 bits", answer_to_offer("; server_max_window_bits=16"), kSwitching},
    {"7692 7.1.2", "a window has at least 8 bits", answer_to_offer("; server_max_window_bits=7"), kSwitching},
    {"7692 7.1.2", "a window is an integer", answer_to_offer("; server_max_window_bits=1e1"), kSwitching},
    {"7692 7.1.2.1", "server_max_window_bits has a value", answer_to_offer("; server_max_window_bits"), kSwitching},
    {"7692 7.1.2.1", "server_max_window_bits is answered", answer_to_offer("; server_max_window_bits=12"),
     agreed("; server_max_window_bits=12")},
    {"7692 7.1.2.1", "server_max_window_bits=15", answer_to_offer("; server_max_window_bits=15"),
     agreed("; server_max_window_bits=15")},
    {"7692 7.1.2.1", "server_max_window_bits=9", answer_to_offer("; server_max_window_bits=9"),
     agreed("; server_max_window_bits=9")},
    {"7692 7.1.2.1", "a window that the server cannot keep is declined", answer_to_offer("; server_max_window_bits=8"),
     kSwitching},
    {"7692 7.1.2.1", "a value may be quoted", answer_to_offer("; server_max_window_bits=\"12\""),
     agreed("; server_max_window_bits=12")},
    {"7692 7.1.2.2", "client_max_window_bits needs no value", answer_to_offer("; client_max_window_bits"), agreed()},
    {"7692 7.1.2.2", "client_max_window_bits may have one", answer_to_offer("; client_max_window_bits=10"), agreed()},
    {"7692 7.1.2.2", "client_max_window_bits=8 can be met", answer_to_offer("; client_max_window_bits=8"), agreed()},
    {"7692 7.1.2.2", "client_max_window_bits is 8 to 15", answer_to_offer("; client_max_window_bits=16"), kSwitching},
    {"7692 7.1.2.2", "client_max_window_bits has no leading zeros", answer_to_offer("; client_max_window_bits=010"),
     kSwitching},
    {"7692 7.1.3", "all four together",
     answer_to_offer("; server_max_window_bits=10; client_max_window_bits=11; server_no_context_takeover; "
                     "client_no_context_takeover"),
     agreed("; server_max_window_bits=10")},
};

const std::vector<Row> kDeflateFrames = {
    {"7692 6", "RSV1 says that a message is compressed", deflated(frame(0xc1, kHello)), "text(Hello)"},
    {"7692 6", "of binary too", deflated(frame(0xc2, kHello)), "binary(Hello)"},
    {"7692 6", "a message without RSV1 is not compressed", deflated(text("Hello")), "text(Hello)"},
    {"7692 6", "each message decides", deflated(text("a") + frame(0xc1, kHello) + binary("b")),
     "text(a); text(Hello); binary(b)"},
    {"7692 6", "RSV1 of a ping", deflated(frame(0xc9, kHello)), "1002 compressed control frame"},
    {"7692 6", "RSV1 of a pong", deflated(frame(0xca, kHello)), "1002 compressed control frame"},
    {"7692 6", "RSV1 of a close", deflated(frame(0xc8)), "1002 compressed control frame"},
    {"7692 6", "RSV1 behind the first fragment",
     deflated(frame(0x41, kHello.substr(0, 3)) + frame(0xc0, kHello.substr(3))),
     "1002 compression declared inside a message"},
    {"7692 6", "RSV1 behind the first fragment of a message that is not compressed",
     deflated(text_begins("a") + frame(0x40, "b")), "1002 compression declared inside a message"},
    {"7692 6", "RSV1 that was not agreed on", frames(frame(0xc2, kHello)), "1002 compression that was not agreed on"},
    {"7692 6", "RSV2 stays reserved", deflated(frame(0xe1, kHello)), "1002 reserved bit"},
    {"7692 6", "RSV3 stays reserved", deflated(frame(0xd1, kHello)), "1002 reserved bit"},
    {"7692 6.1", "what we send says it on the first frame",
     sent_frame({.opcode = Opcode::Text, .compressed = true}, kHello), "c1 07 f2 48 cd c9 c9 07 00"},
    {"7692 6.1", "of several frames too",
     sent_frame({.opcode = Opcode::Text, .fin = false, .compressed = true}, "\xf2"), "41 01 f2"},
    {"7692 6.1", "and not on those behind it", sent_frame({Opcode::Continuation}, kHello.substr(1)),
     "80 06 48 cd c9 c9 07 00"},
    {"7692 6.2", "fragments are put together before they are inflated",
     deflated(frame(0x41, kHello.substr(0, 1)) + goes_on(kHello.substr(1, 2)) + ends(kHello.substr(3))), "text(Hello)"},
    {"7692 6.2", "control frames may come between them",
     deflated(frame(0x41, kHello.substr(0, 3)) + ping("p") + ends(kHello.substr(3))), "ping(p); text(Hello)"},
    {"7692 7.2.1", "what we send has lost its last four bytes", sent_compressed("Hello"), "f2 48 cd c9 c9 07 00"},
    {"7692 7.2.1", "messages are compressed one by one", sent_compressed("Hello"), "f2 48 cd c9 c9 07 00"},
    {"7692 7.2.1", "blocks of any type: none", deflated(frame(0xc1, "\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"s)),
     "text(Hello)"},
    {"7692 7.2.1", "blocks of any type: fixed codes", deflated(frame(0xc1, kHello)), "text(Hello)"},
    {"7692 7.2.1", "a block behind a final one begins with the next byte",
     deflated(frame(0xc1, "\xf3\x48\xcd\xc9\xc9\x07\x00"s + kHello)), "text(HelloHello)"},
    {"7692 7.2.1", "and may refer to what was before it",
     deflated(frame(0xc1, "\xf3\x48\xcd\xc9\xc9\x07\x00\xf2\x00\x11\x00\x00"s)), "text(HelloHello)"},
    {"7692 7.2.2", "what is no DEFLATE data", deflated(frame(0xc1, "\xff\xff\xff")),
     "1007 compressed data are corrupt"},
    {"7692 7.2.2", "what ends inside a block", deflated(frame(0xc1, kHello.substr(0, 4))),
     "1007 compressed data are corrupt"},
    {"7692 7.2.2", "what still has its last four bytes", deflated(frame(0xc1, kHello + "\x00\x00\xff\xff"s)),
     "1007 compressed data are corrupt"},
    {"7692 7.2.2", "a distance beyond what there is", deflated(frame(0xc1, "\xf2\x00\x11\x00\x00"s)),
     "1007 compressed data are corrupt"},
    {"7692 7.2.3.1", "Hello in one frame", deflated("\xc1\x87\x00\x00\x00\x00"s + kHello), "text(Hello)"},
    {"7692 7.2.3.1", "Hello in two frames",
     deflated("\x41\x83\x00\x00\x00\x00\xf2\x48\xcd\x80\x84\x00\x00\x00\x00\xc9\xc9\x07\x00"s), "text(Hello)"},
    {"7692 7.2.3.2", "nothing is taken over from the message before",
     deflated(frame(0xc1, kHello) + frame(0xc1, "\xf2\x00\x11\x00\x00"s)),
     "text(Hello); 1007 compressed data are corrupt"},
    {"7692 7.2.3.3", "a block without compression",
     deflated(frame(0xc1, "\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"s) + text("b")), "text(Hello); text(b)"},
    {"7692 7.2.3.4", "a final block", deflated(frame(0xc1, "\xf3\x48\xcd\xc9\xc9\x07\x00\x00"s)), "text(Hello)"},
    {"7692 7.2.3.5", "two blocks", deflated(frame(0xc1, "\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"s)),
     "text(Hello)"},
    {"7692 7.2.3.6", "an empty message", deflated(frame(0xc1, "\x00"s)), "text()"},
    {"7692 7.2.3.6", "an empty message we send", sent_compressed(""), "00"},
    {"7692 6.2", "text is UTF-8 when it is inflated", deflated(frame(0xc1, "\x00\x02\x00\xfd\xff\xc3\x28\x00"s)),
     "1007 text is not UTF-8"},
    {"7692 6.2", "and its compressed bytes need not be", deflated(frame(0xc1, kHello)), "text(Hello)"},
    {"7692 8", "what a message becomes is limited", limited(4, frame(0xc1, kHello), true),
     "1009 message too big when inflated"},
    {"7692 8", "a message at the limit", limited(5, frame(0xc1, kHello), true), "text(Hello)"},
};

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const std::vector<Row>& part : {kOpeningHandshake, kFraming, kControlFrames, kText, code_rows(), kFailing,
                                       kDeflateNegotiation, kDeflateFrames}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

class Conformance : public ::testing::TestWithParam<Row> {};

TEST_P(Conformance, Row) {
  const auto& [section, demand, input, outcome] = GetParam();
  if (input.kind == Input::Kind::Frames) {
    expect_events(input.bytes, outcome, input.deflate, input.max_message);
  } else {
    EXPECT_EQ(outcome_of(input), outcome);
  }
}

std::string row_name(const ::testing::TestParamInfo<Row>& row) {
  return name_of(row.param.section + ' ' + row.param.demand);
}

INSTANTIATE_TEST_SUITE_P(WebSocket, Conformance, ::testing::ValuesIn(all_rows()), row_name);

TEST(ConformanceTable, EachDemandHasOneRow) {
  std::set<std::string> seen;
  for (const Row& row : all_rows()) {
    EXPECT_TRUE(seen.insert(row.section + ' ' + row.demand).second) << row.section << ' ' << row.demand;
  }
  EXPECT_GE(seen.size(), 280U);
}

}  // namespace
}  // namespace m0::websocket
