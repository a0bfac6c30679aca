#include "m0/python/wsgi_call.hpp"

#include <Python.h>

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "m0/base/fd_registry.hpp"
#include "m0/base/logger.hpp"
#include "m0/python/error_stream.hpp"
#include "m0/python/exception.hpp"
#include "m0/python/file_wrapper.hpp"
#include "m0/python/input_stream.hpp"
#include "m0/python/text.hpp"

namespace m0::python {
namespace {

/// The application forked inside a view and the child came back out of it: it has none of our descriptors and threads,
/// and no business here. Leaves with what the view ended with, without running exit functions a second time.
void leave_if_forked() noexcept {
  if (!base::fd_registry::in_forked_child()) [[likely]]
    return;
  int code = 0;
  if (PyErr_Occurred() != nullptr) {
    code = 1;
    if (PyErr_ExceptionMatches(PyExc_SystemExit) != 0) {
      PyObject* type = nullptr;
      PyObject* value = nullptr;
      PyObject* trace = nullptr;
      PyErr_Fetch(&type, &value, &trace);
      PyErr_NormalizeException(&type, &value, &trace);
      const PyRef given(PyObject_GetAttrString(value, "code"));
      if (given && given.get() == Py_None) code = 0;
      if (given && PyLong_Check(given.get())) code = static_cast<int>(PyLong_AsLong(given.get()) & 0xff);
    }
  }
  ::_exit(code);
}

void raise_assertion(const char* sentence) noexcept { PyErr_SetString(PyExc_AssertionError, sentence); }

}  // namespace

/// The request that runs. On its thread's stack, attached.
class WsgiCall final : public CallTarget {
 public:
  WsgiCall(WsgiCaller& caller, handler::Exchange& exchange) noexcept
      : caller_(caller),
        interpreter_(caller.interpreter_),
        exchange_(exchange),
        answer_(exchange, caller.loop_, interpreter_.returned()) {}

  void run() noexcept;

  PyObject* start_response(PyObject* status, PyObject* headers, PyObject* exc_info) noexcept override;
  PyObject* write(PyObject* bytes) noexcept override;
  [[nodiscard]] bool client_left() const noexcept override { return exchange_.client_left(); }

 private:
  [[nodiscard]] PyRef make_environ() noexcept;
  void call_application(PyRef environ) noexcept;
  /// These four: false with an exception.
  [[nodiscard]] bool send(PyObject* result);
  [[nodiscard]] bool send_sequence(PyObject* sequence);
  [[nodiscard]] bool send_iterable(PyObject* iterable);
  [[nodiscard]] bool check_chunk(PyObject* chunk) const noexcept;

  void close(PyObject* result) noexcept;
  /// The application raised: logged, and the answer becomes an error.
  void failed() noexcept;
  [[nodiscard]] std::string name() const;

  WsgiCaller& caller_;
  const Interpreter& interpreter_;
  handler::Exchange& exchange_;
  Answer answer_;
  PyRef input_;  // of a request with a body
};

void WsgiCaller::run(handler::Exchange& exchange) noexcept { WsgiCall(*this, exchange).run(); }

std::string WsgiCall::name() const {
  std::string text(exchange_.request.method);
  text.append(1, ' ').append(exchange_.request.target);
  return text;
}

void WsgiCall::failed() noexcept {
  if (exchange_.abandoned() && PyErr_ExceptionMatches(PyExc_ConnectionError) != 0) {
    PyErr_Clear();  // what write() said; nobody's mistake
    return;
  }
  try {
    log_exception(name());
  } catch (...) {
    log_exception("a request");
  }
  answer_.fail();
}

PyObject* WsgiCall::start_response(PyObject* status, PyObject* headers, PyObject* exc_info) noexcept {
  if (exc_info != Py_None) {
    if (!PyTuple_Check(exc_info) || PyTuple_Size(exc_info) != 3) {
      PyErr_SetString(PyExc_TypeError, "exc_info must be the tuple that sys.exc_info() gives");
      return nullptr;
    }
    if (answer_.begun()) {
      // The client has the first head: the application's error can only end the answer (PEP 3333).
      PyObject* const trace = PyTuple_GetItem(exc_info, 2);
      PyErr_Restore(Py_NewRef(PyTuple_GetItem(exc_info, 0)), Py_NewRef(PyTuple_GetItem(exc_info, 1)),
                    trace == Py_None ? nullptr : Py_NewRef(trace));
      return nullptr;
    }
  } else if (answer_.has_head()) {
    raise_assertion("start_response was called a second time without exc_info");
    return nullptr;
  }
  if (!answer_.set_head(status, headers)) return nullptr;
  return Py_NewRef(caller_.handles_.write());
}

PyObject* WsgiCall::write(PyObject* bytes) noexcept {
  leave_if_forked();
  if (!check_chunk(bytes)) return nullptr;
  try {
    if (!answer_.give(bytes_view(bytes)) && exchange_.abandoned()) {
      // A view that only writes would not notice otherwise.
      errno = EPIPE;
      return PyErr_SetFromErrno(PyExc_OSError);
    }
  } catch (...) {
    return PyErr_NoMemory();
  }
  return Py_NewRef(Py_None);
}

bool WsgiCall::check_chunk(PyObject* chunk) const noexcept {
  if (!PyBytes_Check(chunk)) {
    PyErr_Format(PyExc_TypeError, "a WSGI body is made of bytes, not %.100R", Py_TYPE(chunk));
    return false;
  }
  if (!answer_.has_head() && PyBytes_Size(chunk) != 0) {
    raise_assertion("the application sent a body before it called start_response");
    return false;
  }
  return true;
}

bool WsgiCall::send_sequence(PyObject* sequence) {
  const bool is_list = PyList_CheckExact(sequence);
  const Py_ssize_t size = is_list ? PyList_Size(sequence) : PyTuple_Size(sequence);
  std::vector<PyRef>& chunks = caller_.chunks_;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyRef chunk = PyRef::borrow(is_list ? PyList_GetItem(sequence, i) : PyTuple_GetItem(sequence, i));
    if (!chunk || !check_chunk(chunk.get())) return false;
    chunks.push_back(std::move(chunk));
  }
  return true;
}

bool WsgiCall::send_iterable(PyObject* iterable) {
  const PyRef iterator(PyObject_GetIter(iterable));
  if (!iterator) return false;
  bool at_hand = interpreter_.is_at_hand(iterator.get());
  if (!at_hand && PyType_GetSlot(Py_TYPE(iterable), Py_sq_length) != nullptr) {
    // One element and no more: nothing is delayed by asking for the end (PEP 3333, "Handling the Content-Length
    // Header").
    at_hand = PySequence_Size(iterable) == 1;
    PyErr_Clear();
  }
  for (;;) {
    PyRef chunk(PyIter_Next(iterator.get()));
    leave_if_forked();
    if (!chunk) return PyErr_Occurred() == nullptr;
    if (!check_chunk(chunk.get())) return false;
    if (at_hand && !answer_.has_body()) {
      caller_.chunks_.push_back(std::move(chunk));
    } else if (PyBytes_Size(chunk.get()) == 0) {
      // Neither an end nor a reason to wait; but an application that yields only these must notice a client that left.
      if (exchange_.abandoned()) return true;
    } else if (!answer_.give(bytes_view(chunk.get()))) {
      return true;
    }
  }
}

bool WsgiCall::send(PyObject* result) {
  if (PyList_CheckExact(result) || PyTuple_CheckExact(result)) {
    if (!send_sequence(result)) return false;
  } else if (PyBytes_Check(result) || PyUnicode_Check(result)) {
    // It would be sent byte by byte, which nobody means.
    PyErr_Format(PyExc_TypeError, "the application returned %.100R; return an iterable of bytes, such as [body]",
                 Py_TYPE(result));
    return false;
  } else if (Py_TYPE(result) == reinterpret_cast<PyTypeObject*>(interpreter_.file_wrapper_type()) &&
             answer_.has_head() && !answer_.has_body() && send_file(interpreter_, result, answer_)) {
    return true;
  } else if (PyErr_Occurred() != nullptr || !send_iterable(result)) {
    return false;
  }
  if (!answer_.has_head()) {
    raise_assertion("the application did not call start_response");
    return false;
  }
  std::vector<PyRef>& chunks = caller_.chunks_;
  if (!answer_.has_body()) {
    answer_.give_whole(chunks);
  } else {
    for (const PyRef& chunk : chunks) {
      if (!answer_.give(bytes_view(chunk.get()))) break;
    }
  }
  return true;
}

void WsgiCall::close(PyObject* result) noexcept {
  if (PyList_CheckExact(result) || PyTuple_CheckExact(result)) return;
  const PyRef method(PyObject_GetAttr(result, interpreter_.close_name()));
  if (!method && PyErr_ExceptionMatches(PyExc_AttributeError) != 0) return PyErr_Clear();
  const PyRef ignored(method ? PyObject_CallNoArgs(method.get()) : nullptr);
  leave_if_forked();
  if (ignored) return;
  // The answer stands: the application had said all of it.
  try {
    log_exception(name() + ": close()");
  } catch (...) {
    PyErr_Clear();
  }
}

PyRef WsgiCall::make_environ() noexcept {
  EnvironBuilder& environs = caller_.environs_;
  CallHandles& handles = caller_.handles_;
  if (handles.made_anew() && !environs.use_disconnected(handles.disconnected())) return {};
  PyRef environ = environs.build(exchange_);
  if (environ && exchange_.body.size() != 0) {
    input_ = make_input(interpreter_.input_stream_type(), exchange_.body);
    if (!input_ || PyDict_SetItem(environ.get(), interpreter_.keys().wsgi_input, input_.get()) != 0) return {};
  }
  return environ;
}

void WsgiCall::call_application(PyRef environ) noexcept {
  PyRef result(PyObject_CallFunctionObjArgs(caller_.applications_[exchange_.target], environ.get(),
                                            caller_.handles_.start_response(), nullptr));
  leave_if_forked();
  if (!result) return failed();
  bool sent = false;
  try {
    sent = send(result.get());
    if (sent) answer_.complete();
  } catch (...) {
    PyErr_NoMemory();
    sent = false;
  }
  if (!sent) failed();
  caller_.chunks_.clear();
  close(result.get());
}

void WsgiCall::run() noexcept {
  if (!caller_.handles_.begin(*this, caller_.environs_.disconnected_references())) return failed();
  PyRef environ = make_environ();
  if (environ) {
    call_application(std::move(environ));
  } else {
    failed();
  }
  caller_.handles_.end();
  if (input_) close_input(input_.get());
  if (PyObject* const errors = caller_.environs_.errors(); errors != nullptr) end_error_line(errors);
  // Whatever was left raised belongs to this request.
  if (PyErr_Occurred() != nullptr) [[unlikely]]
    PyErr_Clear();
}

}  // namespace m0::python
