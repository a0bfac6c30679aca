#pragma once
// A protocol's side of one connection: bytes in, events and bytes out, no sockets and no clock. It speaks in stream
// ids, so that a protocol with many streams fits behind the same interface.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "m0/http/request_head.hpp"
#include "m0/http/response_head.hpp"

namespace m0::http {

using StreamId = std::uint32_t;

/// What a session tells its owner, from inside Session::receive, on the loop's thread.
class SessionEvents {
 public:
  /// A whole head. Its views live only during the call.
  virtual void on_head(StreamId stream, const RequestHead& head) = 0;
  /// Some bytes of the body, decoded. Live only during the call.
  virtual void on_body(StreamId stream, std::string_view bytes) = 0;
  /// The request is complete. The session reads no further until the answer to it has ended.
  virtual void on_request_end(StreamId stream) = 0;
  /// What the peer sent breaks the protocol or a limit (400, 413, 414, 431, 501, 505). Nothing more will be read;
  /// the owner answers with `status` and closes. `why` is a literal for the log, it never repeats what was sent.
  /// When the head had been seen, on_head was called before for the same stream, and this ends that request.
  virtual void on_protocol_error(StreamId stream, int status, const char* why) = 0;

 protected:
  ~SessionEvents() = default;
};

/// What is common to all answers of a connection's loop; refreshed once a second.
struct AnswerContext {
  std::string_view date;    // an IMF-fixdate (RFC 9110 5.6.7); empty: no Date is added
  std::string_view server;  // empty: no Server is added
  bool stopping = false;    // the server is going away: this answer is the connection's last
};

/// One loop's thread.
class Session {
 public:
  virtual ~Session() = default;

  /// Takes bytes from the peer and returns how many were used. It stops early only at the end of a request whose
  /// answer is still to come, or after a protocol error; otherwise it uses all, keeping what is incomplete itself.
  virtual std::size_t receive(std::string_view bytes, SessionEvents& events) = 0;

  /// Reads nothing more until an answer has ended (or ever again, after an error).
  [[nodiscard]] virtual bool paused() const noexcept = 0;
  /// Inside a request: bytes of a head were seen, or a body is not complete.
  [[nodiscard]] virtual bool mid_request() const noexcept = 0;
  /// The client waits for "100 Continue" before it sends its body, and none of it came yet. append_continue() answers.
  [[nodiscard]] virtual bool wants_continue() const noexcept = 0;
  virtual void append_continue(std::string& out) = 0;

  /// Starts the answer: appends the head to `out` with the right framing. Fields that would break framing
  /// (Connection, Keep-Alive, Transfer-Encoding, Upgrade, Proxy-Connection, TE, Trailer; Content-Length where it
  /// contradicts) are dropped or put right here. `close` forces "Connection: close". May be called before the request
  /// was read to its end: then the connection is closed after the answer.
  virtual void begin_answer(StreamId stream, const ResponseHead& head, BodyLength length, const AnswerContext& context,
                            bool close, std::string& out) = 0;
  /// Whether bytes of a body may follow the head that was begun: false for HEAD, 204, 304.
  [[nodiscard]] virtual bool answer_has_body() const noexcept = 0;
  /// Frames `bytes` of the body into `out`. Never more than the declared length: the excess is dropped and the
  /// connection will close; returns how many bytes of `bytes` count.
  virtual std::size_t append_body(StreamId stream, std::string_view bytes, std::string& out) = 0;
  /// The same for bytes the owner sends by itself (sendfile, a view): valid only for an answer with a length.
  virtual void count_body(StreamId stream, std::uint64_t bytes) noexcept = 0;
  /// The body is complete: appends the last chunk where there is one. A length that was not reached makes the
  /// connection close. The session then reads the next request.
  virtual void end_answer(StreamId stream, std::string& out) = 0;
  /// After end_answer: may this connection carry another request? False: close it.
  [[nodiscard]] virtual bool keep_alive() const noexcept = 0;
};

}  // namespace m0::http
