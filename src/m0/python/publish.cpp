#include "m0/python/publish.hpp"

#include <signal.h>

#include <atomic>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "m0/base/fd_registry.hpp"
#include "m0/pubsub/publisher.hpp"
#include "m0/python/gil.hpp"
#include "m0/python/py_ref.hpp"
#include "m0/python/text.hpp"

namespace m0::python {
namespace {

thread_local std::optional<std::uint64_t> t_position;
thread_local pubsub::ConnectionId t_connection;
thread_local bool t_serves = false;

// Of a test's process.
std::atomic<pubsub::AppendStep> g_signal_after{};
std::atomic<int> g_signal{0};

PyObject* text_object(std::string_view text) noexcept {
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

/// The bytes object in that place; nothing with an exception.
std::optional<std::string_view> bytes_argument(PyObject* arguments, Py_ssize_t at) noexcept {
  PyObject* const item = PyTuple_GetItem(arguments, at);
  if (item == nullptr) return std::nullopt;
  if (PyBytes_Check(item)) return bytes_view(item);
  PyErr_SetString(PyExc_TypeError, "publish() takes bytes, bytes, bytes and bool");
  return std::nullopt;
}

}  // namespace

CurrentRequest::CurrentRequest(std::uint64_t log_position, const pubsub::ConnectionId& connection) noexcept {
  t_position = log_position;
  t_connection = connection;
}
CurrentRequest::~CurrentRequest() {
  t_position.reset();
  t_connection = {};
}

ServingThread::ServingThread() noexcept { t_serves = true; }
ServingThread::~ServingThread() { t_serves = false; }

PyObject* nobody_serves() noexcept {
  const bool waits_for_itself = t_serves && !base::fd_registry::in_forked_child();
  return text_object(waits_for_itself ? "!nothing serves yet: under --preload the application is imported before" : "");
}

PyObject* publish_function(PyObject*, PyObject* arguments) noexcept {
  const auto channel = bytes_argument(arguments, 0);
  const auto data = channel ? bytes_argument(arguments, 1) : std::nullopt;
  const auto name = data ? bytes_argument(arguments, 2) : std::nullopt;
  if (!name) return nullptr;
  PyObject* const flag = PyTuple_GetItem(arguments, 3);
  if (flag == nullptr) return nullptr;
  const int binary = PyObject_IsTrue(flag);
  if (binary < 0) return nullptr;
  try {
    std::expected<pubsub::EventId, pubsub::PublishError> said = std::unexpected(pubsub::PublishError::NoServer);
    {
      // The arguments live as long as the call, and bytes never change.
      const GilReleased released;
      said = pubsub::publish({.channel = *channel, .data = *data, .name = *name, .binary = binary != 0});
    }
    if (said) return text_object(pubsub::to_text(*said));
    if (said.error() == pubsub::PublishError::NoServer) return nobody_serves();
    return text_object("!" + std::string(pubsub::describe(said.error())));
  } catch (...) {
    return PyErr_NoMemory();
  }
}

PyObject* append_steps_function(PyObject*, PyObject*) noexcept {
  PyRef names(PyList_New(0));
  for (const pubsub::AppendStepName& step : pubsub::append_steps()) {
    const PyRef name(text_object(step.name));
    if (!names || !name || PyList_Append(names.get(), name.get()) != 0) return nullptr;
  }
  return names.release();
}

PyObject* signal_at_function(PyObject*, PyObject* arguments) noexcept {
  const auto name = bytes_argument(arguments, 0);
  PyObject* const number = name ? PyTuple_GetItem(arguments, 1) : nullptr;
  if (number == nullptr) return nullptr;
  const long signal = PyLong_AsLong(number);
  if (PyErr_Occurred() != nullptr) return nullptr;
  for (const pubsub::AppendStepName& step : pubsub::append_steps()) {
    if (step.name != *name) continue;
    g_signal_after = step.step;
    g_signal = static_cast<int>(signal);
    pubsub::EventLog::set_step_hook([](pubsub::AppendStep at) {
      // To this thread: one that is sent to the process stops it a moment later, when this thread has gone on.
      if (at == g_signal_after) ::raise(g_signal);
    });
    Py_RETURN_NONE;
  }
  PyErr_SetString(PyExc_ValueError, "there is no such step");
  return nullptr;
}

PyObject* connection_function(PyObject*, PyObject*) noexcept {
  if (t_connection.serial == 0) Py_RETURN_NONE;
  try {
    return text_object(pubsub::to_text(t_connection));
  } catch (...) {
    return PyErr_NoMemory();
  }
}

PyObject* cursor_function(PyObject*, PyObject*) noexcept {
  const pubsub::EventLog* const log = pubsub::current_log();
  if (log == nullptr) Py_RETURN_NONE;
  try {
    return text_object(pubsub::to_text(pubsub::EventId{log->epoch(), t_position.value_or(log->last_seq())}));
  } catch (...) {
    return PyErr_NoMemory();
  }
}

}  // namespace m0::python
