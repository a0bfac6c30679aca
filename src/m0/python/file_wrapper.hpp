#pragma once
// wsgi.file_wrapper (PEP 3333, "Optional Platform-Specific File Handling"): the loop sends the file, no thread copies
// it.

#include "m0/python/answer.hpp"
#include "m0/python/interpreter.hpp"
#include "m0/python/py_ref.hpp"

namespace m0::python {

/// Gives the answer a duplicate of the descriptor behind `wrapper`, so that close() can follow at once. False without
/// an exception when it is no regular file, or holds less than the declared length: it is then iterated. Attached.
[[nodiscard]] bool send_file(const Interpreter& interpreter, PyObject* wrapper, Answer& answer);

}  // namespace m0::python
