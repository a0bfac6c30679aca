#include "m0/server/answer_sender.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <string>

#include "m0/base/logger.hpp"

namespace m0::server {
namespace {

using handler::ResponseBody;
using What = Sent::What;

// What one connection may send from a file in one turn.
constexpr std::size_t kFileBytesPerTurn = 256 * 1024;
// A body up to this size goes behind its head into one buffer: one send() of one piece costs less than a sendmsg() of
// two.
constexpr std::size_t kCopiedBody = 4 * 1024;
// Bytes of a stream framed at once.
constexpr std::size_t kStreamBytesPerTurn = 64 * 1024;

http::BodyLength length_of(const ResponseBody& body) {
  switch (body.kind) {
    case ResponseBody::Kind::Bytes: return body.bytes.size();
    case ResponseBody::Kind::Foreign: return body.foreign->bytes().size();
    case ResponseBody::Kind::File: return body.file_length;
    case ResponseBody::Kind::Window: return body.declared;
    case ResponseBody::Kind::Stream: break;
  }
  return std::nullopt;
}

}  // namespace

void AnswerSender::begin(handler::Exchange& exchange, http::Session& session, http::StreamId stream,
                         const http::AnswerContext& context, bool close) {
  const handler::Response& response = exchange.response;
  body_bytes_ = 0;
  body_ended_ = false;
  session.begin_answer(stream, response.head, length_of(response.body), context, close, exchange.wire);
  if (!session.answer_has_body()) {
    end_body(exchange, session, stream);
  } else if (response.body.kind == ResponseBody::Kind::Bytes && response.body.bytes.size() <= kCopiedBody) {
    body_bytes_ = session.append_body(stream, response.body.bytes, exchange.wire);
    end_body(exchange, session, stream);
  }
}

void AnswerSender::end_body(handler::Exchange& exchange, http::Session& session, http::StreamId stream) {
  session.end_answer(stream, exchange.wire);
  body_ended_ = true;
}

std::string_view AnswerSender::body_left(const handler::Exchange& exchange) const noexcept {
  if (body_ended_) return {};
  const ResponseBody& body = exchange.response.body;
  if (body.kind == ResponseBody::Kind::Bytes) return std::string_view(body.bytes).substr(body_bytes_);
  if (body.kind == ResponseBody::Kind::Foreign) return body.foreign->bytes().substr(body_bytes_);
  return {};
}

void AnswerSender::pump_window(handler::Exchange& exchange, http::Session& session, http::StreamId stream,
                               bool returned) {
  handler::BodyWindow& window = *exchange.window;
  std::size_t framed = 0;
  for (std::string_view bytes = window.readable(); !bytes.empty() && framed < kStreamBytesPerTurn;
       bytes = window.readable()) {
    body_bytes_ += session.append_body(stream, bytes, exchange.wire);
    framed += bytes.size();
    window.consume(bytes.size());
  }
  if (returned && window.readable().empty() && !exchange.aborted) end_body(exchange, session, stream);
}

void AnswerSender::pump_producer(handler::Exchange& exchange, http::Session& session, http::StreamId stream) {
  // One call a turn: how much it makes at once is the producer's choice.
  std::string piece;
  handler::Produced said = handler::Produced::Last;
  try {
    said = exchange.response.body.producer(piece);
  } catch (const std::exception& failure) {
    base::log::error("the producer of a stream failed: {}", failure.what());
    exchange.aborted = true;
  } catch (...) {
    base::log::error("the producer of a stream failed");
    exchange.aborted = true;
  }
  if (said == handler::Produced::More && piece.empty()) {
    base::log::error("the producer of a stream appended nothing and did not say that it was the last");
    exchange.aborted = true;
  }
  if (exchange.aborted) return;
  if (!piece.empty()) body_bytes_ += session.append_body(stream, piece, exchange.wire);
  if (said == handler::Produced::Last) end_body(exchange, session, stream);
}

void AnswerSender::pump(handler::Exchange& exchange, http::Session& session, http::StreamId stream, bool returned) {
  if (body_ended_) return;
  if (exchange.response.body.kind == ResponseBody::Kind::Window) pump_window(exchange, session, stream, returned);
  if (exchange.response.body.kind == ResponseBody::Kind::Stream && !exchange.aborted) {
    pump_producer(exchange, session, stream);
  }
}

Sent AnswerSender::write(handler::Exchange& exchange, http::Session* session, http::StreamId stream,
                         std::string_view body, net::Transport& transport, bool more) {
  const std::string_view wire = std::string_view(exchange.wire).substr(wire_sent_);
  if (wire.empty() && body.empty()) return {};
  std::array<iovec, 2> pieces{iovec{const_cast<char*>(wire.data()), wire.size()},
                              iovec{const_cast<char*>(body.data()), body.size()}};
  std::span<const iovec> send(pieces);
  if (wire.empty())
    send = send.subspan(1);
  else if (body.empty())
    send = send.first(1);
  const net::Moved moved = transport.write(send, more);
  if (moved.what == net::Moved::What::Gone) return {What::Gone};
  const std::size_t of_wire = std::min(moved.bytes, wire.size());
  wire_sent_ += static_cast<std::uint32_t>(of_wire);
  if (moved.bytes > of_wire) {
    body_bytes_ += moved.bytes - of_wire;
    session->count_body(stream, moved.bytes - of_wire);
  }
  if (moved.bytes < wire.size() + body.size()) return {What::Blocked, moved.bytes > 0};
  exchange.wire.clear();
  wire_sent_ = 0;
  return {};
}

Sent AnswerSender::send_file(handler::Exchange& exchange, http::Session& session, http::StreamId stream,
                             net::Transport& transport) {
  const ResponseBody& body = exchange.response.body;
  const std::uint64_t left = body.file_length - body_bytes_;
  if (left == 0) return {};
  const net::Moved moved =
      transport.send_file(body.file.get(), body.file_offset + body_bytes_,
                          static_cast<std::size_t>(std::min<std::uint64_t>(left, kFileBytesPerTurn)));
  switch (moved.what) {
    case net::Moved::What::Gone: return {What::Gone};
    case net::Moved::What::Ended: return {What::Cut};  // the file was cut while it was being sent
    case net::Moved::What::WouldBlock: return {What::Blocked, false};
    case net::Moved::What::Some: break;
  }
  body_bytes_ += moved.bytes;
  session.count_body(stream, moved.bytes);
  // epoll says at once that it goes on: the others have their turn first.
  if (body_bytes_ < body.file_length) return {What::Blocked, true};
  return {};
}

std::string AnswerSender::take_unsent(handler::Exchange& exchange) {
  std::string unsent = exchange.wire.substr(wire_sent_);
  exchange.wire.clear();
  wire_sent_ = 0;
  return unsent;
}

Sent AnswerSender::send_interim(handler::Exchange& exchange, net::Transport& transport) {
  return write(exchange, nullptr, 0, {}, transport, false);
}

Sent AnswerSender::send(handler::Exchange& exchange, http::Session& session, http::StreamId stream,
                        net::Transport& transport, bool returned) {
  if (exchange.wire.size() - wire_sent_ < kStreamBytesPerTurn) pump(exchange, session, stream, returned);
  const ResponseBody& body = exchange.response.body;
  const bool file_follows = !body_ended_ && body.kind == ResponseBody::Kind::File;
  if (const Sent sent = write(exchange, &session, stream, body_left(exchange), transport, file_follows);
      sent.what != What::All) {
    return sent;
  }
  if (file_follows) {
    if (const Sent sent = send_file(exchange, session, stream, transport); sent.what != What::All) return sent;
  }
  if (body_ended_) return {};
  if (body.kind == ResponseBody::Kind::Window) {
    const bool empty = exchange.window->readable().empty();
    if (returned && exchange.aborted && empty) return {What::Cut};
    return {empty && !returned ? What::Starved : What::More};
  }
  if (body.kind == ResponseBody::Kind::Stream) return {exchange.aborted ? What::Cut : What::More};
  end_body(exchange, session, stream);
  return {exchange.wire.empty() ? What::All : What::More};
}

}  // namespace m0::server
