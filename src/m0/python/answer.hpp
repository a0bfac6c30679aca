#pragma once
// From what an application passes and yields to the Response of its Exchange: whole where its length is known before
// anything must be sent, else through the window.

#include <span>
#include <string_view>

#include "m0/handler/exchange.hpp"
#include "m0/python/py_ref.hpp"
#include "m0/python/returned_bytes.hpp"

namespace m0::python {

/// Tells the loop to look at an exchange that goes on.
class LoopNotifier {
 public:
  virtual void notify(handler::Exchange& exchange) noexcept = 0;

 protected:
  ~LoopNotifier() = default;
};

/// One request's; the thread that runs it, attached. Waits for the client without the interpreter's lock.
class Answer {
 public:
  /// Bodies larger than this are not copied: the loop sends them out of the Python object.
  static constexpr std::size_t kCopiedUpTo = 16 * 1024;

  Answer(handler::Exchange& exchange, LoopNotifier& loop, ReturnedBytes& returned) noexcept
      : exchange_(exchange), loop_(loop), returned_(returned) {}

  /// The head, replacing one that was set before. False with an exception; the head is then unset. Not once begun().
  [[nodiscard]] bool set_head(PyObject* status, PyObject* headers) noexcept;
  [[nodiscard]] bool has_head() const noexcept { return has_head_; }
  /// The loop has the head: it cannot be replaced, and a failure can only cut the answer.
  [[nodiscard]] bool begun() const noexcept { return streaming_; }
  /// Nothing of a body will be sent, whatever comes: HEAD, 204, 304.
  [[nodiscard]] bool bodyless() const noexcept { return bodyless_; }
  /// Some of the body was given: by write(), or piece by piece.
  [[nodiscard]] bool has_body() const noexcept { return has_body_; }
  [[nodiscard]] const http::BodyLength& declared() const noexcept { return declared_; }

  /// All of the body. Follows nothing else.
  void give_whole(std::span<const PyRef> chunks);
  /// The whole body is in a file. Follows nothing else.
  void give_file(base::Fd file, std::uint64_t offset, std::uint64_t length) noexcept;
  /// The next piece, sent before the application is asked for another. False: no more is wanted.
  [[nodiscard]] bool give(std::string_view bytes);
  /// The application has said all. An answer that ends before its Content-Length is cut.
  void complete();
  /// The application failed: an answer that has begun is cut, else it becomes a plain 500.
  void fail() noexcept;

 private:
  [[nodiscard]] bool begin_stream();
  [[nodiscard]] bool push(std::string_view bytes) noexcept;
  [[nodiscard]] std::string_view within_declared(std::string_view bytes) noexcept;
  void cut() noexcept;

  handler::Exchange& exchange_;
  LoopNotifier& loop_;
  ReturnedBytes& returned_;
  http::BodyLength declared_;
  std::uint64_t given_ = 0;
  bool has_head_ = false;
  bool has_body_ = false;
  bool bodyless_ = false;
  bool streaming_ = false;
  bool whole_ = false;  // the response holds all that will be sent
  bool excess_logged_ = false;
};

}  // namespace m0::python
