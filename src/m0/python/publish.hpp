#pragma once
// What m0serve._core gives to the package's realtime functions.

#include <Python.h>

#include <cstdint>

#include "m0/pubsub/connection_id.hpp"

namespace m0::python {

/// publish(channel: bytes, data: bytes, event: bytes, binary: bool) -> str: the event's id, or a sentence that begins
/// with "!" and says why there is none, or nothing: this process serves nobody, but another one may. Waits without the
/// interpreter's lock.
PyObject* publish_function(PyObject* module, PyObject* arguments) noexcept;

/// cursor() -> str | None: the newest event when the head of the request was complete that this thread handles; outside
/// of a request, the newest event. None where nothing serves.
PyObject* cursor_function(PyObject* module, PyObject* ignored) noexcept;

/// connection() -> str | None: what the connection of the request is called that this thread handles, if it is held or
/// will be. None outside of a request.
PyObject* connection_function(PyObject* module, PyObject* ignored) noexcept;

/// What is said where this process has no log: "" (ask the control socket), or a sentence where that would be to wait
/// for itself. Null with an exception.
PyObject* nobody_serves() noexcept;

/// _append_steps() -> list[str]: after which steps of a publish a process may die. For tests.
PyObject* append_steps_function(PyObject* module, PyObject* ignored) noexcept;
/// _signal_at(step: bytes, signal: int): from now on this process sends itself the signal after that step of each
/// publish. For tests.
PyObject* signal_at_function(PyObject* module, PyObject* arguments) noexcept;

/// For its life this thread is the one that serves the control socket, or will: where it publishes before there is a
/// log (an application that --preload imports), asking there would be to wait for itself.
class ServingThread {
 public:
  ServingThread() noexcept;
  ~ServingThread();
  ServingThread(const ServingThread&) = delete;
  ServingThread& operator=(const ServingThread&) = delete;
};

/// The request that this thread handles, for the life of this object.
class CurrentRequest {
 public:
  CurrentRequest(std::uint64_t log_position, const pubsub::ConnectionId& connection) noexcept;
  ~CurrentRequest();
  CurrentRequest(const CurrentRequest&) = delete;
  CurrentRequest& operator=(const CurrentRequest&) = delete;
};

}  // namespace m0::python
