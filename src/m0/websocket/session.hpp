#pragma once
// A client's frames (RFC 6455 sections 5 to 8, RFC 7692) on one connection: bytes in, messages out. No sockets and no
// clock; what we send is written with frame.hpp.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "m0/websocket/deflate.hpp"
#include "m0/websocket/frame.hpp"
#include "m0/websocket/header_reader.hpp"
#include "m0/websocket/utf8.hpp"
#include "m0/websocket/violation.hpp"

namespace m0::websocket {

/// What a session tells its owner, from inside Session::receive, on the loop's thread. Views live during the call only.
/// The owner may pause() there; it may not call receive() of the same session, nor end it.
class SessionEvents {
 public:
  /// A whole message: Opcode::Text, which is valid UTF-8, or Opcode::Binary.
  virtual void on_message(Opcode kind, std::string_view payload) = 0;
  /// To be answered with a pong of the same payload (RFC 6455 5.5.2, 5.5.3); the last of several will do.
  virtual void on_ping(std::string_view payload) = 0;
  virtual void on_pong(std::string_view payload) = 0;
  /// The peer's last frame. `code` is close_code::kNoStatus where it named none; append_close(out, code) answers. What
  /// comes behind it is not looked at.
  virtual void on_close(std::uint16_t code, std::string_view reason) = 0;
  /// The peer broke the protocol or a limit: to be answered with a close frame of `code` and the end of the connection
  /// (RFC 6455 7.1.7). What comes behind it is not looked at. `why` is a literal and repeats nothing of what was sent.
  virtual void on_violation(std::uint16_t code, const char* why) = 0;

 protected:
  ~SessionEvents() = default;
};

/// What the sessions of one loop share: the limit, and zlib with its room, so that an idle connection owns neither.
struct SessionContext {
  std::size_t max_message = 1U << 20U;  // bytes of a message, inflated (1009)
  Inflater inflater;
  std::string inflated;  // room that is used again
};

/// At most 64 bytes, and nothing beyond while no message is incomplete. The events depend on the bytes alone, not on
/// how they were split. One loop's thread.
class Session {
 public:
  /// `deflate`: permessage-deflate was agreed on.
  Session(SessionContext& context, bool deflate) noexcept : context_(&context), deflate_(deflate) {}

  /// Takes bytes from the peer and returns how many were used: all, unless an event paused it. What was used is
  /// overwritten (unmasked in place): a whole message that is not compressed is passed on from where it lies. What was
  /// not used is untouched and has to be given again.
  std::size_t receive(std::span<char> bytes, SessionEvents& events);

  /// Called from an event: receive() returns behind it. The next receive() goes on.
  void pause() noexcept { paused_ = true; }

  /// After a close frame or a violation: nothing will be read.
  [[nodiscard]] bool over() const noexcept { return over_; }
  /// Inside a message or a frame.
  [[nodiscard]] bool mid_message() const noexcept { return message_ != Opcode::Continuation || !header_.empty(); }
  /// Bytes of memory beyond the session itself.
  [[nodiscard]] std::size_t held_bytes() const noexcept;

 private:
  /// What came of something incomplete.
  struct Held {
    std::string message;  // unmasked; compressed, if it is
    std::string control;  // of a control frame, which may stand between the fragments of a message
  };

  std::size_t read_header(std::string_view bytes, SessionEvents& events);
  void begin_frame(SessionEvents& events);
  std::size_t read_payload(std::span<char> bytes, SessionEvents& events);
  void read_data(std::string_view piece, SessionEvents& events);
  void end_message(std::string_view last, SessionEvents& events);
  void end_compressed(Opcode kind, std::string_view first, std::string_view last, SessionEvents& events);
  void read_control(std::string_view piece, SessionEvents& events);
  void end_close(std::string_view payload, SessionEvents& events);
  void violate(Violation violation, SessionEvents& events);
  Held& held();
  [[nodiscard]] std::size_t gathered() const noexcept { return held_ ? held_->message.size() : 0; }
  /// What the message may have as it comes.
  [[nodiscard]] std::size_t most_gathered() const noexcept;

  SessionContext* context_;
  std::unique_ptr<Held> held_;
  std::uint64_t left_ = 0;  // of the frame's payload
  HeaderReader header_;
  Utf8Validator text_;                     // between two characters wherever a text ended well: never to be reset
  Opcode message_ = Opcode::Continuation;  // Text or Binary inside a message
  bool deflate_ : 1;
  bool compressed_ : 1 = false;  // the message
  bool paused_ : 1 = false;
  bool over_ : 1 = false;
};

static_assert(sizeof(Session) <= 64);

}  // namespace m0::websocket
