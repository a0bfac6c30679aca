#include "m0/http/h1_session.hpp"

#include <algorithm>

#include "m0/http/scan.hpp"

namespace m0::http {
namespace {

// RFC 9112 2.2: "at least one" empty line before a request line is ignored, for clients that end a body with a CRLF too
// many. More than a few are not a mistake.
constexpr std::uint8_t kMaxEmptyLines = 4;

}  // namespace

H1Session::H1Session(H1Context& context) noexcept : context_(&context) {}
H1Session::~H1Session() = default;

std::size_t H1Session::receive(std::string_view bytes, SessionEvents& events) {
  std::size_t used = 0;
  while (used < bytes.size() && !paused()) {
    const std::string_view rest = bytes.substr(used);
    used += reading_ == Reading::Head ? read_head(rest, events) : read_body(rest, events);
  }
  return used;
}

std::size_t H1Session::read_head(std::string_view bytes, SessionEvents& events) {
  if (partial_) {
    const auto fed = partial_->feed(context_->limits, bytes);
    if (!fed) {
      refuse(fed.error(), events);
      return bytes.size();
    }
    if (fed->complete) {
      // The views of the head point into it, and the owner may do anything but read on in its callbacks.
      const std::unique_ptr<HeadBuffer> whole = std::move(partial_);
      take_head(whole->head(), events);
    }
    return fed->used;
  }
  if (empty_line_cr_ || bytes.front() == '\r') return skip_empty_lines(bytes, events);

  HeadParser parser(HeadParser::Section::Request);
  RequestHead& head = context_->scratch;
  const auto size = parser.parse(context_->limits, bytes, head);
  if (!size) {
    refuse(size.error(), events);
    return bytes.size();
  }
  if (*size == 0) {
    partial_ = std::make_unique<HeadBuffer>(parser, bytes, head);
    return bytes.size();
  }
  take_head(head, events);
  return *size;
}

std::size_t H1Session::skip_empty_lines(std::string_view bytes, SessionEvents& events) {
  if (!empty_line_cr_) {
    empty_line_cr_ = true;
    return 1;
  }
  if (bytes.front() != '\n') {
    refuse({400, "bare CR"}, events);
  } else if (++empty_lines_ > kMaxEmptyLines) {
    refuse({400, "too many empty lines before a request"}, events);
  }
  empty_line_cr_ = false;
  return 1;
}

void H1Session::take_head(const RequestHead& head, SessionEvents& events) {
  ++stream_;
  empty_lines_ = 0;
  keep_alive_ = head.keep_alive;
  http10_ = head.version == Version::Http10;
  head_method_ = head.method == "HEAD";
  if (head.body == BodyKind::Chunked) {
    body_.start_chunked();
  } else {
    body_.start_length(head.content_length);
  }
  const bool too_large = head.content_length > context_->limits.max_body;
  wants_continue_ = head.expect_continue && !body_.done() && !too_large;
  reading_ = Reading::Body;

  events.on_head(stream_, head);
  if (reading_ != Reading::Body) return;
  if (too_large) {
    reading_ = Reading::Over;
    keep_alive_ = false;
    events.on_protocol_error(stream_, 413, "body too large");
  } else if (body_.done()) {
    end_request(events);
  }
}

std::size_t H1Session::read_body(std::string_view bytes, SessionEvents& events) {
  wants_continue_ = false;
  const auto piece = body_.decode(context_->limits, bytes, context_->scratch);
  if (!piece) {
    reading_ = Reading::Over;
    keep_alive_ = false;
    events.on_protocol_error(stream_, piece.error().status, piece.error().why);
    return bytes.size();
  }
  if (!piece->data.empty()) events.on_body(stream_, piece->data);
  if (reading_ == Reading::Body && body_.done()) end_request(events);
  return piece->used;
}

void H1Session::end_request(SessionEvents& events) {
  reading_ = Reading::Paused;
  events.on_request_end(stream_);
}

/// Before a head was seen: nothing is known of the request, its method neither.
void H1Session::refuse(Refusal refusal, SessionEvents& events) {
  ++stream_;
  partial_.reset();
  reading_ = Reading::Over;
  keep_alive_ = http10_ = head_method_ = false;
  events.on_protocol_error(stream_, refusal.status, refusal.why);
}

bool H1Session::paused() const noexcept { return reading_ == Reading::Paused || reading_ == Reading::Over; }

bool H1Session::mid_request() const noexcept { return partial_ != nullptr || reading_ == Reading::Body; }

bool H1Session::wants_continue() const noexcept { return wants_continue_ && reading_ == Reading::Body && !answering_; }

void H1Session::append_continue(std::string& out) {
  wants_continue_ = false;
  out.append("HTTP/1.1 100 Continue\r\n\r\n");
}

void H1Session::begin_answer(StreamId /*stream*/, const ResponseHead& head, BodyLength length,
                             const AnswerContext& context, bool close, std::string& out) {
  // What is left of the request would be taken for the next one.
  const bool unread = reading_ != Reading::Paused && !(reading_ == Reading::Body && body_.done());
  const AnswerStarted started =
      write_head(head, length, {.http10 = http10_, .head_method = head_method_, .keep_alive = keep_alive_}, context,
                 close || unread, out);
  keep_alive_ = !started.close;
  framing_ = started.framing;
  answer_left_ = framing_ == AnswerFraming::Length ? *length : 0;
  answering_ = true;
}

bool H1Session::answer_has_body() const noexcept { return framing_ != AnswerFraming::None; }

std::size_t H1Session::append_body(StreamId stream, std::string_view bytes, std::string& out) {
  switch (framing_) {
    case AnswerFraming::None: return 0;
    case AnswerFraming::Length: {
      const auto fits = static_cast<std::size_t>(std::min<std::uint64_t>(answer_left_, bytes.size()));
      out.append(bytes.substr(0, fits));
      count_body(stream, bytes.size());
      return fits;
    }
    case AnswerFraming::Chunked: append_chunk(bytes, out); break;
    case AnswerFraming::Close: out.append(bytes); break;
  }
  return bytes.size();
}

void H1Session::count_body(StreamId /*stream*/, std::uint64_t bytes) noexcept {
  if (bytes > answer_left_) keep_alive_ = false;
  answer_left_ -= std::min(answer_left_, bytes);
}

void H1Session::end_answer(StreamId /*stream*/, std::string& out) {
  if (framing_ == AnswerFraming::Chunked) out.append("0\r\n\r\n");
  if (answer_left_ != 0) keep_alive_ = false;
  framing_ = AnswerFraming::None;
  answering_ = false;
  // An answer may come before the next head did (408): it has a body even if this request was a HEAD.
  head_method_ = false;
  reading_ = keep_alive_ ? Reading::Head : Reading::Over;
  if (reading_ == Reading::Over) partial_.reset();
}

bool H1Session::keep_alive() const noexcept { return keep_alive_; }

}  // namespace m0::http
