#pragma once
// One owned reference to a Python object.

#include <Python.h>

#include <utility>

namespace m0::python {

/// Only while attached to the interpreter, its destructor too.
class PyRef {
 public:
  PyRef() noexcept = default;
  /// Takes over a new reference (null: an error was raised, or nothing).
  explicit PyRef(PyObject* owned) noexcept : object_(owned) {}
  [[nodiscard]] static PyRef borrow(PyObject* object) noexcept { return PyRef(Py_XNewRef(object)); }

  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef& operator=(PyRef&& other) noexcept {
    // The new value first: dropping the old one may run Python code that looks at this object.
    PyObject* old = std::exchange(object_, std::exchange(other.object_, nullptr));
    Py_XDECREF(old);
    return *this;
  }
  PyRef(const PyRef&) = delete;
  PyRef& operator=(const PyRef&) = delete;
  ~PyRef() { Py_XDECREF(object_); }

  [[nodiscard]] PyObject* get() const noexcept { return object_; }
  [[nodiscard]] PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  [[nodiscard]] PyObject* new_reference() const noexcept { return Py_XNewRef(object_); }
  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
  void reset() noexcept { *this = PyRef(); }

 private:
  PyObject* object_ = nullptr;
};

}  // namespace m0::python
