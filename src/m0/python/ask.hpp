#pragma once
// What is asked of the server beside publishing, by a thread of a process that serves: the verbs of the control socket,
// done on the spot.

#include <Python.h>

namespace m0::python {

/// ask(verb: bytes, *arguments: bytes) -> list[bytes] | str: what the control socket would answer, or one sentence that
/// says why it was not done, or nothing: this process serves nobody, but another one may. Waits without the
/// interpreter's lock, a second at most.
PyObject* ask_function(PyObject* module, PyObject* arguments) noexcept;

}  // namespace m0::python
