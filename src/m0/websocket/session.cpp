#include "m0/websocket/session.hpp"

#include <algorithm>
#include <expected>
#include <utility>

#include "m0/websocket/bounded_append.hpp"
#include "m0/websocket/close_code.hpp"

namespace m0::websocket {
namespace {

/// Inflated messages up to this size reuse one block; the memory of a greater one is given back.
constexpr std::size_t kKeptRoom = 64U << 10U;

}  // namespace

std::size_t Session::receive(std::span<char> bytes, SessionEvents& events) {
  paused_ = false;
  std::size_t used = 0;
  while (used < bytes.size() && !over_ && !paused_) {
    if (!header_.complete()) {
      const std::span<char> rest = bytes.subspan(used);
      used += read_header({rest.data(), rest.size()}, events);
    }
    // Here and not in the next round: a frame without payload is complete with its header.
    if (header_.complete() && !over_) used += read_payload(bytes.subspan(used), events);
  }
  return over_ ? bytes.size() : used;
}

std::size_t Session::read_header(std::string_view bytes, SessionEvents& events) {
  const auto fed = header_.feed(bytes, {.deflate = deflate_, .in_message = message_ != Opcode::Continuation});
  if (!fed) {
    violate(fed.error(), events);
    return bytes.size();
  }
  if (header_.complete()) begin_frame(events);
  return *fed;
}

// RFC 6455 10.4: a message that is too big is refused by what its header announces, before a byte of it is kept.
void Session::begin_frame(SessionEvents& events) {
  left_ = header_.length();
  const Opcode opcode = header_.opcode();
  if (is_control(opcode)) return;
  if (opcode != Opcode::Continuation) {
    message_ = opcode;
    compressed_ = header_.compressed();
  }
  if (left_ > most_gathered() - gathered()) violate({close_code::kMessageTooBig, "message too big"}, events);
}

std::size_t Session::read_payload(std::span<char> bytes, SessionEvents& events) {
  const std::span<char> piece = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
  unmask(piece, header_.mask(), header_.length() - left_);
  left_ -= piece.size();
  const std::string_view text(piece.data(), piece.size());
  if (is_control(header_.opcode())) {
    read_control(text, events);
  } else {
    read_data(text, events);
  }
  return piece.size();
}

// RFC 6455 8.1: text that is no UTF-8 ends the connection. Every byte is looked at when it comes, wherever frames end;
// of a compressed message when it is complete.
void Session::read_data(std::string_view piece, SessionEvents& events) {
  const bool checked = message_ == Opcode::Text && !compressed_;
  if (checked && !text_.feed(piece)) return violate({close_code::kInvalidData, "text is not UTF-8"}, events);
  if (left_ > 0 || !header_.fin()) {
    if (!piece.empty()) {
      // The last frame says how much there will be; before it, only the limit is known.
      const std::uint64_t most = header_.fin() ? gathered() + piece.size() + left_ : most_gathered();
      append_bounded(held().message, piece, static_cast<std::size_t>(most));
    }
    if (left_ == 0) header_.reset();
    return;
  }
  if (checked && !text_.complete()) return violate({close_code::kInvalidData, "text ends inside a character"}, events);
  end_message(piece, events);
}

// Whatever the owner sees from its event is a session between messages.
void Session::end_message(std::string_view last, SessionEvents& events) {
  const Opcode kind = std::exchange(message_, Opcode::Continuation);
  header_.reset();
  std::string first;
  if (held_) {
    first = std::move(held_->message);
    held_.reset();
  }
  if (compressed_) return end_compressed(kind, first, last, events);
  if (first.empty()) return events.on_message(kind, last);
  append_bounded(first, last, first.size() + last.size());
  events.on_message(kind, first);
}

void Session::end_compressed(Opcode kind, std::string_view first, std::string_view last, SessionEvents& events) {
  // Taken out of the context for the time of the event, which may reach another session of this loop.
  std::string message = std::exchange(context_->inflated, {});
  message.clear();
  Inflater& inflater = context_->inflater;
  inflater.start(context_->max_message);
  auto done = inflater.feed(first, message);
  if (done) done = inflater.feed(last, message);
  if (done) done = inflater.finish(message);

  if (!done && done.error() == InflateError::TooBig) {
    violate({close_code::kMessageTooBig, "message too big when inflated"}, events);
  } else if (!done) {
    violate({close_code::kInvalidData, "compressed data are corrupt"}, events);
  } else if (kind == Opcode::Text && !is_utf8(message)) {
    violate({close_code::kInvalidData, "text is not UTF-8"}, events);
  } else {
    events.on_message(kind, message);
  }
  if (message.capacity() <= kKeptRoom) context_->inflated = std::move(message);
}

void Session::read_control(std::string_view piece, SessionEvents& events) {
  if (left_ > 0) {
    if (!piece.empty()) held().control += piece;
    return;
  }
  const Opcode kind = header_.opcode();
  header_.reset();
  std::string whole;
  if (held_ && !held_->control.empty()) {
    whole = std::exchange(held_->control, {});
    whole += piece;
    piece = whole;
    if (held_->message.empty()) held_.reset();
  }
  if (kind == Opcode::Ping) {
    events.on_ping(piece);
  } else if (kind == Opcode::Pong) {
    events.on_pong(piece);
  } else {
    end_close(piece, events);
  }
}

// RFC 6455 5.5.1: nothing, or a code and a reason.
void Session::end_close(std::string_view payload, SessionEvents& events) {
  if (payload.size() == 1) return violate({close_code::kProtocolError, "close frame of one byte"}, events);
  std::uint16_t code = close_code::kNoStatus;
  std::string_view reason;
  if (!payload.empty()) {
    code =
        static_cast<std::uint16_t>(static_cast<std::uint8_t>(payload[0]) << 8U | static_cast<std::uint8_t>(payload[1]));
    reason = payload.substr(2);
    if (!client_may_send_code(code))
      return violate({close_code::kProtocolError, "close code is not to be sent"}, events);
    if (!is_utf8(reason)) return violate({close_code::kInvalidData, "close reason is not UTF-8"}, events);
  }
  over_ = true;
  held_.reset();
  events.on_close(code, reason);
}

void Session::violate(Violation violation, SessionEvents& events) {
  over_ = true;
  held_.reset();
  events.on_violation(violation.code, violation.why);
}

Session::Held& Session::held() {
  if (!held_) held_ = std::make_unique<Held>();
  return *held_;
}

// Compression can make a message longer: by an eighth at worst (DEFLATE's fixed codes spend nine bits on some bytes),
// and by a few bytes for each block.
std::size_t Session::most_gathered() const noexcept {
  const std::size_t most = context_->max_message;
  return compressed_ ? most + most / 8 + 64 : most;
}

std::size_t Session::held_bytes() const noexcept {
  // What fits into a string itself is not a block of its own, but counts as one here: it is a bound.
  return held_ ? sizeof(Held) + held_->message.capacity() + held_->control.capacity() : 0;
}

}  // namespace m0::websocket
