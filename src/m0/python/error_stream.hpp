#pragma once
// wsgi.errors: text that the application writes becomes lines of the server's log (PEP 3333, "Input and Error
// Streams").

#include "m0/python/py_ref.hpp"

namespace m0::python {

/// The type; attached, once. Null with an exception.
[[nodiscard]] PyRef make_error_stream_type() noexcept;
/// One a thread, so that the lines of two requests do not mix.
[[nodiscard]] PyRef make_error_stream(PyObject* type) noexcept;
/// A request has ended: what it wrote without a newline is a line too.
void end_error_line(PyObject* stream) noexcept;

}  // namespace m0::python
