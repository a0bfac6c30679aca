#pragma once
// A pool thread that runs WSGI applications.

#include <optional>
#include <span>

#include "m0/handler/application.hpp"
#include "m0/python/gil.hpp"
#include "m0/python/interpreter.hpp"
#include "m0/python/py_ref.hpp"
#include "m0/python/wsgi_call.hpp"

namespace m0::python {

/// Made, run and destroyed on its own thread, detached.
class WsgiThread final : public handler::ThreadBody, private LoopNotifier {
 public:
  /// `applications` by target. Throws std::runtime_error when the interpreter does not take the thread.
  WsgiThread(const Interpreter& interpreter, std::span<PyObject* const> applications,
             const pool::ThreadContext& context);
  ~WsgiThread() override;

  void run(handler::JobThread& thread) noexcept override;

 private:
  void notify(handler::Exchange& exchange) noexcept override { thread_->notify(exchange); }

  const Interpreter& interpreter_;
  ThreadAttachment attachment_;
  std::optional<WsgiCaller> caller_;  // attached only
  handler::JobThread* thread_ = nullptr;
};

}  // namespace m0::python
