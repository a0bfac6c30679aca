#include "m0/held/inbox.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "m0/base/bytes.hpp"
#include "m0/base/check.hpp"
#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/held/admission.hpp"
#include "m0/held/mailroom.hpp"
#include "m0/http/field_line.hpp"
#include "m0/http/head_parser.hpp"
#include "m0/websocket/close_code.hpp"

namespace m0::held {
namespace {

using base::iequals;
using base::metric::Counter;
using handler::ResponseBody;
using http::append_field_line;

const Counter g_posted("m0_messages_total", "Messages and events of held clients that were given to a view");
const Counter g_dropped("m0_messages_refused_total", "Messages that their view refused with a status from 300 to 499");
const Counter g_failed("m0_messages_failed_total", "Messages whose view failed, which closed their connections");
const Counter g_discarded("m0_messages_discarded_total", "Messages that waited when the server closed the connection");

// A file is read at once, and a slow disk stops everything.
constexpr std::uint64_t kMostOfFile = std::uint64_t{256} * 1024;

constexpr std::string_view kTooBig = "the answer to a message is larger than one frame may be (--max-message)";

// Made here and not by a client: no limit of a client's requests applies.
constexpr http::Limits kOwnLimits{.max_line = ~std::size_t{0} / 2,
                                  .max_head = ~std::size_t{0} / 2,
                                  .max_fields = 1'000'000,
                                  .max_body = ~std::uint64_t{0}};

/// Fields that say something of the handshake alone, or of a body that would be answered to it, or that the server says
/// itself. A middleware would compress what it is told is accepted, and a frame says of no coding.
bool is_dropped(std::string_view name) noexcept {
  constexpr std::string_view kFamily = "sec-websocket-";
  constexpr std::array<std::string_view, 21> kDropped{"host",
                                                      "upgrade",
                                                      "connection",
                                                      "keep-alive",
                                                      "proxy-connection",
                                                      "te",
                                                      "trailer",
                                                      "content-length",
                                                      "expect",
                                                      "http2-settings",
                                                      "transfer-encoding",
                                                      "content-type",
                                                      "last-event-id",
                                                      "content-encoding",
                                                      "accept",
                                                      "accept-encoding",
                                                      "range",
                                                      "if-match",
                                                      "if-none-match",
                                                      "if-modified-since",
                                                      "if-unmodified-since"};
  return iequals(name.substr(0, kFamily.size()), kFamily) || handler::is_own_field(name) ||
         std::ranges::any_of(kDropped, [&](std::string_view each) { return iequals(each, name); });
}

std::string_view event_name(Inbox::Kind kind) noexcept {
  switch (kind) {
    case Inbox::Kind::Open: return "open";
    case Inbox::Kind::Text:
    case Inbox::Kind::Binary: return "message";
    case Inbox::Kind::Close: return "close";
  }
  return {};
}

}  // namespace

Inbox::Inbox(Mailroom& room, Correspondent& client, const handler::Exchange& handshake, const handler::Hold& hold)
    : room_(room),
      client_(&client),
      listener_(handshake.listener),
      peer_(handshake.peer),
      id_(handshake.connection_id),
      metadata_size_(static_cast<std::uint32_t>(hold.metadata.size())),
      wants_close_(hold.wants_close) {
  const http::RequestHead& request = handshake.request;
  head_.reserve(request.raw.size() + 96 + hold.metadata.size());
  // "*" (of OPTIONS) is no path that a POST could have.
  const std::string_view path = request.path.starts_with('/') ? request.path : std::string_view("/");
  path_size_ = static_cast<std::uint32_t>(path.size());
  head_.append("POST ").append(path);
  if (!request.query.empty()) head_.append("?").append(request.query);
  head_ += " HTTP/1.1\r\n";
  // HTTP/1.0 knows no Host, and this is none.
  append_field_line(head_, "Host", request.authority.empty() ? std::string_view("localhost") : request.authority);
  for (const http::Field& field : request.fields) {
    if (!is_dropped(field.name)) append_field_line(head_, field.name, field.value);
  }
  append_field_line(head_, "M0-Connection", pubsub::to_text(id_));
  head_ += hold.metadata;
  head_.shrink_to_fit();
}

// ---- what waits

void Inbox::push(Message message) {
  if (waiting_.empty()) ++room_.busy_;
  room_.waiting_bytes_ += message.payload.size();
  waiting_.push_back(std::move(message));
  pump();
}

void Inbox::pop() noexcept {
  room_.waiting_bytes_ -= waiting_.front().payload.size();
  waiting_.erase(waiting_.begin());
  if (waiting_.empty()) {
    --room_.busy_;
    std::vector<Message>().swap(waiting_);  // thousands of these are empty
  }
}

bool Inbox::has_room() noexcept {
  if (waiting_.size() >= kMostWaiting) return false;
  std::size_t bytes = 0;
  for (const Message& message : waiting_) bytes += message.payload.size();
  if (bytes >= room_.limits_.max_message) return false;
  if (!room_.full()) return true;
  room_.unread_.push_back(*this);
  return false;
}

void Inbox::discard_waiting() noexcept {
  while (!waiting_.empty()) {
    g_discarded.add();
    pop();
  }
}

void Inbox::client_gone(std::uint16_t code) {
  client_->append_channels(last_channels_);
  client_ = nullptr;
  base::ListNode<UnreadTag>::unlink();
  if (with_view_ != nullptr) {
    with_view_->peer_ended();
    // Its view runs to its end, but nobody takes what it makes piece by piece.
    if (with_view_->phase() == handler::Phase::Streaming) with_view_->abandon();
  }
  taking_answer_ = false;
  if (wants_close_) return push({Kind::Close, code, {}});
  if (waiting_.empty()) return room_.bury(*this);
  pump();
}

void Inbox::pump() {
  while (with_view_ == nullptr && !taking_answer_ && !waiting_.empty() && !base::ListNode<QueueTag>::linked()) {
    if (room_.post(*this) != Mailroom::Posted::Answered) return;
    finish(*with_view_);
  }
}

// ---- the request

bool Inbox::write_request(handler::Exchange& exchange) {
  const Message& message = waiting_.front();
  std::string& head = exchange.head_storage;
  head = head_;
  append_field_line(head, "M0-Event", event_name(message.kind));
  head += "M0-Channel: ";
  if (client_ != nullptr) {
    client_->append_channels(head);
  } else {
    head += last_channels_;
  }
  head += "\r\n";
  if (message.kind == Kind::Close) {
    head += "M0-Close: ";
    base::append_decimal(head, message.code);
    head += "\r\n";
  } else if (message.kind != Kind::Open) {
    append_field_line(head, "Content-Type",
                      message.kind == Kind::Text ? "text/plain; charset=utf-8" : "application/octet-stream");
  }
  head += "Content-Length: ";
  base::append_decimal(head, message.payload.size());
  head += "\r\n\r\n";
  http::HeadParser parser(http::HeadParser::Section::Request);
  const auto parsed = parser.parse(kOwnLimits, head, exchange.request);
  M0_CHECK(parsed && *parsed == head.size());
  exchange.request.raw = head;
  exchange.peer = peer_;
  exchange.listener = listener_;
  exchange.owner = this;
  exchange.connection_id = id_;
  return exchange.body.append(message.payload) == handler::BodyAppend::Ok;
}

// ---- the answer

void Inbox::on_notice(handler::Exchange& exchange, handler::Exchange::Seen seen) {
  if (exchange.response.body.kind == ResponseBody::Kind::Window && exchange.window != nullptr &&
      (seen.phase == handler::Phase::Streaming || seen.phase == handler::Phase::Done)) {
    gather(exchange);
  }
  if (!seen.returned) return;
  finish(exchange);
  pump();
}

void Inbox::gather(handler::Exchange& exchange) {
  if (client_ == nullptr) return exchange.abandon();
  handler::BodyWindow& window = *exchange.window;
  for (std::string_view bytes = window.readable(); !bytes.empty(); bytes = window.readable()) {
    if (!too_big_ && gathered_.size() + bytes.size() > room_.limits_.max_message) {
      too_big_ = true;
      report(exchange, kTooBig);
    }
    if (!too_big_) gathered_ += bytes;
    window.consume(bytes.size());
  }
  if (too_big_) exchange.abandon();
}

void Inbox::finish(handler::Exchange& exchange) {
  g_posted.add();
  with_view_ = nullptr;
  if (waiting_.front().kind == Kind::Close) --room_.closes_in_flight_;
  const Answer answer = judge(exchange);
  room_.office_.give_back(exchange, answer.frame ? answer.frame->size() : 0);
  base::free_room(gathered_);
  too_big_ = false;
  pop();
  if (client_ == nullptr) {
    if (waiting_.empty()) room_.bury(*this);
    return;
  }
  if (answer.close) discard_waiting();
  taking_answer_ = !client_->take_answer(answer);
  if (client_ != nullptr && has_room()) client_->may_speak();
}

void Inbox::answer_taken() {
  // Perhaps inside the hub, which a view on the loop could enter again.
  taking_answer_ = false;
  if (busy()) room_.resume(*this);
}

Answer Inbox::judge(handler::Exchange& exchange) {
  handler::Response& response = exchange.response;
  Answer failure;
  failure.close.emplace(websocket::close_code::kInternalError);
  if (exchange.aborted || too_big_ || response.head.status >= 500) {
    g_failed.add();
    return failure;
  }
  Answer answer;
  auto reply = handler::read_reply(response.head.fields);
  if (reply && reply->close && !websocket::server_may_send_code(reply->close->code)) {
    reply = std::unexpected("M0-Close must be a close code that a server may send, such as 1000, or 4000 to 4999");
  }
  if (!reply) {
    report(exchange, reply.error());
    g_failed.add();
    return failure;
  }
  answer.channels = std::move(reply->channels);
  answer.close = std::move(reply->close);
  answer.position = exchange.log_position;
  if (response.head.status >= 300) {
    g_dropped.add();
  } else if (response.head.status == 200) {
    answer.frame = take_body(exchange);
    answer.binary = asks_for_binary(response);
    if (!answer.frame) {
      g_failed.add();
      return failure;
    }
  }
  return answer;
}

std::optional<std::string> Inbox::take_body(handler::Exchange& exchange) {
  if (exchange.response.head.fields.find("Content-Encoding").data() != nullptr) {
    report(exchange,
           "the answer to a message is compressed, which a frame cannot say: leave the path out of the "
           "middleware that does it");
    return std::nullopt;
  }
  ResponseBody& body = exchange.response.body;
  std::optional<std::string> bytes;
  bool fits = true;
  switch (body.kind) {
    case ResponseBody::Kind::Bytes: bytes = std::move(body.bytes); break;
    case ResponseBody::Kind::Foreign:
      fits = body.foreign->bytes().size() <= room_.limits_.max_message;
      if (fits) bytes = body.foreign->bytes();
      break;
    case ResponseBody::Kind::File: {
      fits = body.file_length <= std::min<std::uint64_t>(kMostOfFile, room_.limits_.max_message);
      if (!fits) break;
      bytes.emplace(static_cast<std::size_t>(body.file_length), '\0');
      const ssize_t got = ::pread(body.file.get(), bytes->data(), bytes->size(), static_cast<off_t>(body.file_offset));
      bytes->resize(got < 0 ? 0 : static_cast<std::size_t>(got));
      break;
    }
    case ResponseBody::Kind::Window: bytes = std::move(gathered_); break;
    case ResponseBody::Kind::Stream:
      report(exchange, "a stream cannot be the answer to a message: give the body whole");
      return std::nullopt;
  }
  if (fits && bytes->size() <= room_.limits_.max_message) return bytes;
  report(exchange, kTooBig);
  return std::nullopt;
}

void Inbox::report(const handler::Exchange& exchange, std::string_view what) const {
  base::log::error("POST {} ({}): {}", exchange.request.path, event_name(waiting_.front().kind), what);
}

}  // namespace m0::held
