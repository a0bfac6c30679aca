#include "m0/python/wsgi_thread.hpp"

#include <Python.h>

#include <stdexcept>

#include "m0/python/exception.hpp"
#include "m0/python/publish.hpp"
#include "m0/python/text.hpp"

namespace m0::python {
namespace {

bool call(const char* function, PyObject* first, PyObject* second) noexcept {
  const PyRef module(PyImport_ImportModule("m0serve._interpreter"));
  const PyRef found(module ? PyObject_GetAttrString(module.get(), function) : nullptr);
  return found && PyRef(PyObject_CallFunctionObjArgs(found.get(), first, second, nullptr));
}

}  // namespace

WsgiThread::WsgiThread(const Interpreter& interpreter, std::span<PyObject* const> applications,
                       const pool::ThreadContext& context)
    : interpreter_(interpreter) {
  const Attached attached(attachment_);
  const PyRef lane = utf8_text(context.lane);
  const PyRef index(PyLong_FromUnsignedLong(context.thread));
  if (!lane || !index || !call("thread_started", lane.get(), index.get())) {
    log_exception("a pool thread");
    throw std::runtime_error("the interpreter took no thread for the pool: the traceback above says why");
  }
  caller_.emplace(interpreter_, applications, static_cast<LoopNotifier&>(*this));
}

WsgiThread::~WsgiThread() {
  const Attached attached(attachment_);
  caller_.reset();
  if (!call("thread_ended", nullptr, nullptr)) log_exception("a pool thread that ends");
}

void WsgiThread::run(handler::JobThread& thread) noexcept {
  thread_ = &thread;
  while (handler::Exchange* job = thread.take()) {
    const Attached attached(attachment_);
    interpreter_.returned().release_all();
    // The interpreter's lock is kept while there is work: giving it up at every request is what makes many threads
    // slower than one.
    do {
      job->began = thread.began();
      if (job->start()) {
        const CurrentRequest current(job->log_position, job->connection_id);
        caller_->run(*job);
      }
      thread.complete(*job);
      job = thread.take_now();
    } while (job != nullptr);
  }
}

}  // namespace m0::python
