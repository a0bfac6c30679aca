#pragma once
// What an application passes to start_response, checked and copied into a response's head.

#include "m0/http/response_head.hpp"
#include "m0/python/py_ref.hpp"

namespace m0::python {

/// False with TypeError or ValueError raised; `head` and `declared` are then unspecified. Attached.
/// `declared` is the application's Content-Length. Values that would break the wire's framing are refused: CR, LF, NUL
/// and other control characters, characters outside latin-1, names that are no token (RFC 9110 5.1, 5.5).
[[nodiscard]] bool read_response_arguments(PyObject* status, PyObject* headers, http::ResponseHead& head,
                                           http::BodyLength& declared) noexcept;

}  // namespace m0::python
