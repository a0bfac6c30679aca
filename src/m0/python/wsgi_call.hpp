#pragma once
// One request through a WSGI application (PEP 3333).

#include <span>
#include <vector>

#include "m0/handler/exchange.hpp"
#include "m0/python/answer.hpp"
#include "m0/python/call_handles.hpp"
#include "m0/python/environ.hpp"
#include "m0/python/interpreter.hpp"
#include "m0/python/py_ref.hpp"

namespace m0::python {

/// Calls applications for one exchange after the other and keeps between them what need not be made anew. Made, used
/// and destroyed attached, on one thread.
class WsgiCaller {
 public:
  /// `applications` by Exchange::target; borrowed, for as long as the process lives.
  WsgiCaller(const Interpreter& interpreter, std::span<PyObject* const> applications, LoopNotifier& loop) noexcept
      : interpreter_(interpreter),
        applications_(applications),
        loop_(loop),
        handles_(interpreter.handles_type()),
        environs_(interpreter) {}

  /// Fills the exchange's answer. Whatever the application raises ends this request only. Does not finish the exchange.
  void run(handler::Exchange& exchange) noexcept;

 private:
  friend class WsgiCall;

  const Interpreter& interpreter_;
  std::span<PyObject* const> applications_;
  LoopNotifier& loop_;
  CallHandles handles_;
  EnvironBuilder environs_;
  std::vector<PyRef> chunks_;
};

}  // namespace m0::python
