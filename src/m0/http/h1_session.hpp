#pragma once
// HTTP/1.1 (RFC 9112) on one connection: one request at a time, answered in order.

#include <memory>

#include "m0/http/limits.hpp"
#include "m0/http/session.hpp"

namespace m0::http {

/// What the sessions of one loop share: the limits and the parser's scratch, so that an idle connection owns neither.
struct H1Context {
  Limits limits;
  RequestHead scratch;  // the head being parsed, valid during SessionEvents::on_head only
};

/// At most 64 bytes while idle (a connection's memory is a budget): what is incomplete lives behind `partial_`.
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
  struct Partial;  // http helper: the unfinished head or trailer section and how far it was read

  H1Context* context_;
  std::unique_ptr<Partial> partial_;
};

}  // namespace m0::http
