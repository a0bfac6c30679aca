#pragma once
// A held WebSocket.

#include <span>
#include <string>
#include <string_view>

#include "m0/held/client.hpp"
#include "m0/held/websocket_encoding.hpp"
#include "m0/websocket/session.hpp"

namespace m0::held {

/// The loop. Its connection owns it. It has an inbox.
class WebSocket final : public Client, private websocket::SessionEvents {
 public:
  WebSocket(Common& common, Wire& wire, const WebSocketEncoding& encoding, const Times& times, std::uint64_t serial,
            bool deflate);
  ~WebSocket() override;

  // Client
  std::size_t receive(std::span<char> bytes) override;
  [[nodiscard]] bool wants_input() const noexcept override;
  [[nodiscard]] bool listens() const noexcept override { return true; }
  [[nodiscard]] std::string_view metadata() const noexcept override { return inbox()->metadata(); }

  // pubsub::Subscriber
  void fell_out() noexcept override;

 private:
  [[nodiscard]] bool sign_of_life(std::string& out) override;
  void append_message(std::string& out, std::string_view data, bool binary) const override;
  void leave_for_now() noexcept override;
  void dismiss(const pubsub::Farewell& farewell) noexcept override;

  // websocket::SessionEvents
  void on_message(websocket::Opcode kind, std::string_view payload) override;
  void on_ping(std::string_view payload) override;
  void on_pong(std::string_view) override {}
  void on_close(std::uint16_t code, std::string_view reason) override;
  void on_violation(std::uint16_t code, const char* why) override;

  /// Of one receive(). Thousands fit into it, and each answer would be a write: a few are answered, and the last (RFC
  /// 6455 5.5.3 asks for no more).
  struct Pings {
    static constexpr unsigned kEach = 16;
    unsigned count = 0;
    std::string pongs;
    std::string last;
  };
  void answer_pings();
  void close(std::uint16_t code, std::string_view reason) noexcept;

  const WebSocketEncoding& encoding_;
  websocket::Session session_;
  Pings* pings_ = nullptr;    // what is to be answered behind a receive()
  bool awaits_sign_ = false;  // a ping is out, and nothing came since
};

static_assert(sizeof(WebSocket) <= 304, "a held connection's memory is a budget");

}  // namespace m0::held
