// A client's bytes at once and in pieces of random sizes, with and without pauses: the same events. What is passed on
// keeps the rules, and what is held keeps its bound.

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "m0/base/check.hpp"
#include "m0/base/escape.hpp"
#include "m0/websocket/close_code.hpp"
#include "m0/websocket/session.hpp"

#include "input.hpp"

namespace {

using namespace m0::websocket;

/// Knows nothing of pieces and states.
bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = static_cast<unsigned char>(bytes.front()) < 0x80 ? 1 : m0::base::utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

class Transcript final : public SessionEvents {
 public:
  explicit Transcript(std::size_t max_message) : max_message_(max_message) {}
  void watch(Session* session, bool pauses) {
    session_ = session;
    pauses_ = pauses;
  }

  void on_message(Opcode kind, std::string_view payload) override {
    M0_CHECK(kind == Opcode::Text || kind == Opcode::Binary);
    M0_CHECK(payload.size() <= max_message_ && (kind == Opcode::Binary || is_text(payload)));
    M0_CHECK(!session_->mid_message() && session_->held_bytes() == 0);
    note(kind == Opcode::Text ? 't' : 'b', payload);
    if (pauses_) session_->pause();
  }
  void on_ping(std::string_view payload) override { control('p', payload); }
  void on_pong(std::string_view payload) override { control('q', payload); }
  void on_close(std::uint16_t code, std::string_view reason) override {
    M0_CHECK(client_may_send_code(code) || (code == close_code::kNoStatus && reason.empty()));
    M0_CHECK(reason.size() <= kMaxControl - 2 && is_text(reason));
    note('c', std::to_string(code));
    note('r', reason);
    end();
  }
  void on_violation(std::uint16_t code, const char* why) override {
    M0_CHECK(code == close_code::kProtocolError || code == close_code::kInvalidData ||
             code == close_code::kMessageTooBig);
    note('v', std::to_string(code));
    note('w', why);
    end();
  }

  [[nodiscard]] const std::string& log() const noexcept { return log_; }

 private:
  void control(char event, std::string_view payload) {
    M0_CHECK(payload.size() <= kMaxControl);
    note(event, payload);
    if (pauses_) session_->pause();
  }
  void note(char event, std::string_view payload) {
    M0_CHECK(!over_);
    log_ += event + std::to_string(payload.size()) + ':';
    log_ += payload;
  }
  void end() {
    M0_CHECK(session_->over() && session_->held_bytes() == 0);
    over_ = true;
  }

  std::size_t max_message_;
  Session* session_ = nullptr;
  std::string log_;
  bool pauses_ = false;
  bool over_ = false;
};

template <class NextSize>
std::string run(SessionContext& context, bool deflate, bool pauses, std::string_view bytes, NextSize next_size) {
  Session session(context, deflate);
  Transcript transcript(context.max_message);
  transcript.watch(&session, pauses);
  // As much as a compressed message may have, twice for how a buffer grows, and a control frame.
  const std::size_t bound = 2 * (context.max_message + context.max_message / 8 + 64) + 1024;
  while (!bytes.empty()) {
    std::string block(bytes.substr(0, next_size(bytes.size())));  // its end is watched by the sanitizer
    const std::size_t used = session.receive(std::span(block), transcript);
    M0_CHECK(used > 0 && used <= block.size());
    M0_CHECK(used == block.size() || pauses);
    M0_CHECK(std::string_view(block).substr(used) == bytes.substr(used, block.size() - used));
    M0_CHECK(session.held_bytes() <= bound);
    M0_CHECK(session.mid_message() || session.held_bytes() == 0);
    bytes.remove_prefix(used);
  }
  return transcript.log() + (session.over() ? " over" : session.mid_message() ? " mid" : " idle");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static SessionContext context;  // shared by all sessions, as in a loop
  m0::fuzz::Input input(data, size);
  const std::uint8_t choice = input.byte();
  const bool deflate = choice % 2 != 0;
  context.max_message = choice < 128 ? 64U << 10U : choice;
  std::minstd_rand random(1U + input.byte());
  const unsigned longest = 1U + input.byte() % 64;

  const auto all = [](std::size_t left) { return left; };
  const auto some = [&](std::size_t) { return 1 + random() % longest; };
  const std::string whole = run(context, deflate, false, input.rest(), all);
  M0_CHECK(whole == run(context, deflate, false, input.rest(), some));
  M0_CHECK(whole == run(context, deflate, true, input.rest(), all));
  M0_CHECK(whole == run(context, deflate, true, input.rest(), some));
  return 0;
}
