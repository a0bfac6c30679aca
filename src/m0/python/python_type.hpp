#pragma once
// A Python type of ours: a C++ object behind a Python object header, never built from Python.

#include <Python.h>

#include <new>
#include <utility>

#include "m0/python/py_ref.hpp"

namespace m0::python {

/// The instance layout of a type whose payload is T. T holds no Python reference, so no garbage collection is needed.
template <class T>
struct Instance {
  PyObject_HEAD T payload;
};

template <class T>
[[nodiscard]] T& payload_of(PyObject* self) noexcept {
  return reinterpret_cast<Instance<T>*>(self)->payload;
}

template <class T>
void dealloc_instance(PyObject* self) noexcept {
  PyTypeObject* const type = Py_TYPE(self);
  payload_of<T>(self).~T();
  const auto release = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
  release(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

/// Null with an exception when there is no memory.
template <class T, class... Args>
[[nodiscard]] PyRef make_instance(PyObject* type, Args&&... args) noexcept {
  auto* const type_object = reinterpret_cast<PyTypeObject*>(type);
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type_object, Py_tp_alloc));
  PyRef self(allocate(type_object, 0));
  if (self) new (&payload_of<T>(self.get())) T(std::forward<Args>(args)...);
  return self;
}

/// Adds what every type of ours needs to `slots` (which end with {0, nullptr}) and makes the type.
template <class T>
[[nodiscard]] PyRef make_type(const char* name, PyType_Slot* slots) noexcept {
  PyType_Spec spec = {name, static_cast<int>(sizeof(Instance<T>)), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};
  return PyRef(PyType_FromSpec(&spec));
}

/// For tables of slots and methods, which are void* and one signature in C.
template <class Function>
[[nodiscard]] void* slot(Function* function) noexcept {
  return reinterpret_cast<void*>(function);
}
template <class Function>
[[nodiscard]] PyCFunction method(Function* function) noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace m0::python
