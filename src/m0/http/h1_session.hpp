#pragma once
// HTTP/1.1 (RFC 9112) on one connection: one request at a time, answered in order.

#include <memory>

#include "m0/http/body_decoder.hpp"
#include "m0/http/head_buffer.hpp"
#include "m0/http/limits.hpp"
#include "m0/http/response_writer.hpp"
#include "m0/http/session.hpp"

namespace m0::http {

/// What the sessions of one loop share: the limits and the parser's scratch, so that an idle connection owns neither.
struct H1Context {
  Limits limits;
  RequestHead scratch;  // the head being parsed, valid during SessionEvents::on_head only
};

/// At most 96 bytes while idle (a connection's memory is a budget): what is incomplete lives behind pointers that are
/// null then. One loop's thread.
class H1Session final : public Session {
 public:
  explicit H1Session(H1Context& context) noexcept;
  ~H1Session() override;

  std::size_t receive(std::string_view bytes, SessionEvents& events) override;
  [[nodiscard]] bool paused() const noexcept override;
  [[nodiscard]] bool mid_request() const noexcept override;
  [[nodiscard]] bool wants_continue() const noexcept override;
  void append_continue(std::string& out) override;
  void begin_answer(StreamId stream, const ResponseHead& head, BodyLength length, const AnswerContext& context,
                    bool close, std::string& out) override;
  [[nodiscard]] bool answer_has_body() const noexcept override;
  std::size_t append_body(StreamId stream, std::string_view bytes, std::string& out) override;
  void count_body(StreamId stream, std::uint64_t bytes) noexcept override;
  void end_answer(StreamId stream, std::string& out) override;
  [[nodiscard]] bool keep_alive() const noexcept override;

 private:
  enum class Reading : std::uint8_t { Head, Body, Paused, Over };

  std::size_t read_head(std::string_view bytes, SessionEvents& events);
  std::size_t read_body(std::string_view bytes, SessionEvents& events);
  std::size_t skip_empty_lines(std::string_view bytes, SessionEvents& events);
  void take_head(const RequestHead& head, SessionEvents& events);
  void end_request(SessionEvents& events);
  void refuse(Refusal refusal, SessionEvents& events);

  H1Context* context_;
  std::unique_ptr<HeadBuffer> partial_;  // of a head that did not come whole
  BodyDecoder body_;
  std::uint64_t answer_left_ = 0;  // of a declared length
  StreamId stream_ = 0;            // of the request that is read or answered
  Reading reading_ = Reading::Head;
  AnswerFraming framing_ = AnswerFraming::None;
  std::uint8_t empty_lines_ = 0;    // before the request line
  bool empty_line_cr_ : 1 = false;  // and a CR without its LF yet
  bool keep_alive_ : 1 = true;
  bool http10_ : 1 = false;
  bool head_method_ : 1 = false;
  bool wants_continue_ : 1 = false;
  bool answering_ : 1 = false;
};

static_assert(sizeof(H1Session) <= 96);

}  // namespace m0::http
