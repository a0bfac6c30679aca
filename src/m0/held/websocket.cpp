#include "m0/held/websocket.hpp"

#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/websocket/close_code.hpp"
#include "m0/websocket/frame.hpp"

namespace m0::held {
namespace {

using base::metric::Counter;
using websocket::Opcode;
namespace close_code = websocket::close_code;

const Counter g_received("m0_websocket_messages_total", "Messages that came from WebSockets");
const Counter g_violations("m0_websocket_violations_total", "WebSockets closed because of what their peers sent");
const Counter g_sent_away("m0_websockets_sent_away_total", "WebSockets that were told to come back and closed");
const Counter g_missed("m0_websockets_missed_total",
                       "WebSockets of raw frames closed because they had missed something");

const Counter g_too_much("m0_websockets_too_much_total",
                         "WebSockets closed because the incomplete messages of all had too many bytes");

// Bytes of all messages of a loop that have begun to arrive.
constexpr std::size_t kMostIncomplete = std::size_t{64} << 20U;

Opcode opcode_for(bool binary) noexcept { return binary ? Opcode::Binary : Opcode::Text; }

}  // namespace

WebSocket::WebSocket(Common& common, Wire& wire, const WebSocketEncoding& encoding, const Times& times,
                     std::uint64_t serial, bool deflate)
    : Client(common, wire, encoding, times, serial), encoding_(encoding), session_(common.websockets, deflate) {}

WebSocket::~WebSocket() { common_.incomplete_bytes -= session_.held_bytes(); }

// ---- what the client sends

std::size_t WebSocket::receive(std::span<char> bytes) {
  awaits_sign_ = false;
  const std::size_t before = session_.held_bytes();
  Pings pings;
  pings_ = &pings;
  const std::size_t used = session_.receive(bytes, *this);
  answer_pings();
  pings_ = nullptr;
  common_.incomplete_bytes += session_.held_bytes();
  common_.incomplete_bytes -= before;
  if (session_.held_bytes() > before && common_.incomplete_bytes > kMostIncomplete) {
    g_too_much.add();
    close(close_code::kTryAgainLater, "too many messages are incomplete");
  }
  return used;
}

bool WebSocket::wants_input() const noexcept {
  return !over() && !leaving() && !session_.over() && !goes_when_idle() && inbox()->has_room();
}

void WebSocket::on_message(Opcode kind, std::string_view payload) {
  g_received.add();
  inbox()->add(kind == Opcode::Text ? Inbox::Kind::Text : Inbox::Kind::Binary, payload);
  if (!wants_input()) session_.pause();
}

void WebSocket::on_ping(std::string_view payload) {
  if (++pings_->count <= Pings::kEach) {
    websocket::append_frame(pings_->pongs, {.opcode = Opcode::Pong}, payload);
  } else {
    pings_->last = payload;
  }
}

void WebSocket::answer_pings() {
  if (pings_->count == 0) return;
  if (pings_->count > Pings::kEach) websocket::append_frame(pings_->pongs, {.opcode = Opcode::Pong}, pings_->last);
  say_lightly(pings_->pongs);
  *pings_ = Pings();
}

void WebSocket::on_close(std::uint16_t code, std::string_view) {
  answer_pings();
  set_close_code(code);
  std::string frame;
  // 1010 is a client's alone to send.
  websocket::append_close(frame, code == close_code::kMandatoryExtension ? close_code::kNormal : code);
  say_last(frame);
}

void WebSocket::on_violation(std::uint16_t code, const char* why) {
  g_violations.add();
  base::log::debug("a WebSocket is closed with {}: {}", code, why);
  close(code, why);
}

// ---- what it is told

void WebSocket::append_message(std::string& out, std::string_view data, bool binary) const {
  encoding_.append_message(out, opcode_for(binary), data);
}

void WebSocket::close(std::uint16_t code, std::string_view reason) noexcept {
  if (over() || leaving()) return;
  set_close_code(code);
  std::string frame;
  websocket::append_close(frame, code, reason);
  say_last(frame);
}

bool WebSocket::sign_of_life(std::string& out) {
  // One that is not read at the moment cannot give any.
  if (awaits_sign_ && wants_input()) return false;
  awaits_sign_ = true;
  websocket::append_frame(out, {.opcode = Opcode::Ping}, {});
  return true;
}

void WebSocket::leave_for_now() noexcept {
  g_sent_away.add();
  close(close_code::kServiceRestart, "come back");
}

void WebSocket::dismiss(const pubsub::Farewell& farewell) noexcept {
  const std::uint16_t usual = farewell.reconnect ? close_code::kServiceRestart : close_code::kNormal;
  close(websocket::server_may_send_code(farewell.code) ? farewell.code : usual, farewell.reason);
}

void WebSocket::fell_out() noexcept {
  g_missed.add();
  if (mid_frame()) return end(Ending::Cut);
  close(close_code::kTryAgainLater, "events were missed");
}

}  // namespace m0::held
