#pragma once
// Between Python's str and the bytes of HTTP: WSGI's strings hold one byte a character (PEP 3333, "unicode issues").

#include <cstddef>
#include <optional>
#include <string_view>

#include "m0/python/py_ref.hpp"

namespace m0::python {

[[nodiscard]] inline PyRef latin1_text(std::string_view bytes) noexcept {
  return PyRef(PyUnicode_DecodeLatin1(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), nullptr));
}

[[nodiscard]] inline PyRef utf8_text(std::string_view bytes) noexcept {
  return PyRef(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

[[nodiscard]] inline std::string_view bytes_view(PyObject* bytes) noexcept {
  return {PyBytes_AsString(bytes), static_cast<std::size_t>(PyBytes_Size(bytes))};
}

/// The bytes of a str, one a character. Nothing and an exception (TypeError, UnicodeEncodeError, which is a ValueError)
/// when it is no str or has a character beyond U+00FF. The view lives as long as `text` and `keeper`.
[[nodiscard]] inline std::optional<std::string_view> latin1_view(PyObject* text, PyRef& keeper,
                                                                 const char* what) noexcept {
  if (!PyUnicode_Check(text)) {
    PyErr_Format(PyExc_TypeError, "%s is %.100R, not a str", what, Py_TYPE(text));
    return std::nullopt;
  }
  // All ASCII: the str's own bytes are its UTF-8, nothing is copied.
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text, &size);
  if (utf8 != nullptr && size == PyUnicode_GetLength(text)) {
    return std::string_view(utf8, static_cast<std::size_t>(size));
  }
  PyErr_Clear();  // a lone surrogate has no UTF-8; it is refused below in the words of latin-1
  keeper = PyRef(PyUnicode_AsLatin1String(text));
  if (!keeper) return std::nullopt;
  return bytes_view(keeper.get());
}

}  // namespace m0::python
