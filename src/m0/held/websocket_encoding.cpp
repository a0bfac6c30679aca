#include "m0/held/websocket_encoding.hpp"

#include "m0/base/escape.hpp"
#include "m0/websocket/base64.hpp"
#include "m0/websocket/utf8.hpp"

namespace m0::held {
namespace {

using pubsub::EventId;
using websocket::Opcode;

void append_member(std::string& json, std::string_view begin, std::string_view text) {
  json += begin;
  base::append_json_string(json, text);
  json += '"';
}

}  // namespace

void WebSocketEncoding::append_message(std::string& out, Opcode kind, std::string_view payload) const {
  if (kind == Opcode::Text && !websocket::is_utf8(payload)) kind = Opcode::Binary;
  if (deflater_ != nullptr && payload.size() >= kLeastCompressed && payload.size() <= kMostCompressed) {
    std::string compressed;
    deflater_->compress(payload, compressed);
    if (compressed.size() < payload.size()) {
      websocket::append_frame(out, {.opcode = kind, .compressed = true}, compressed);
      return;
    }
  }
  websocket::append_frame(out, {.opcode = kind}, payload);
}

void WebSocketEncoding::append(std::string& out, const EventId& id, const pubsub::Record& record) const {
  if (frames_ == Frames::Json) {
    append_json(out, id, record.channel(), record.name(), record.data(), record.binary());
  } else {
    append_message(out, record.binary() ? Opcode::Binary : Opcode::Text, record.data());
  }
}

void WebSocketEncoding::append_json(std::string& out, const EventId& id, std::string_view channel,
                                    std::string_view name, std::string_view data, bool binary) const {
  std::string json = R"({"id":")";
  json.reserve(data.size() + channel.size() + name.size() + 96);
  pubsub::append_id(json, id);
  json += '"';
  if (channel.empty()) {
    json += R"(,"channel":null)";
  } else {
    append_member(json, R"(,"channel":")", channel);
  }
  if (name.empty()) {
    json += R"(,"event":null)";
  } else {
    append_member(json, R"(,"event":")", name);
  }
  if (binary) {
    json += R"(,"encoding":"base64","data":")";
    websocket::append_base64(json, {reinterpret_cast<const std::uint8_t*>(data.data()), data.size()});
    json += '"';
  } else {
    append_member(json, R"(,"data":")", data);
  }
  json += '}';
  append_message(out, Opcode::Text, json);
}

bool WebSocketEncoding::append_gap(std::string& out, const EventId& from, const EventId& to) const {
  if (frames_ == Frames::Raw) return false;
  append_json(out, to, {}, "m0-gap",
              R"({"from":")" + pubsub::to_text(from) + R"(","to":")" + pubsub::to_text(to) + R"("})", false);
  return true;
}

void WebSocketEncoding::append_cursor(std::string& out, const EventId& at) const {
  if (frames_ == Frames::Json) append_json(out, at, {}, "m0-cursor", {}, false);
}

}  // namespace m0::held
