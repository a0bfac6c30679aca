#pragma once
// wsgi.input: the gathered body as a readable object (PEP 3333, "Input and Error Streams").

#include "m0/handler/body_store.hpp"
#include "m0/python/py_ref.hpp"

namespace m0::python {

/// The type; attached, once. Null with an exception.
[[nodiscard]] PyRef make_input_stream_type() noexcept;

/// A stream without a body, ever: one serves every request that has none.
[[nodiscard]] PyRef make_empty_input(PyObject* type) noexcept;
/// A stream over `body` until close_input(). Null with an exception.
[[nodiscard]] PyRef make_input(PyObject* type, const handler::BodyStore& body) noexcept;
/// The request has ended: whoever kept the stream gets a ValueError from it, never freed memory. Attached.
void close_input(PyObject* input) noexcept;

}  // namespace m0::python
