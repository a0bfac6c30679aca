#include "m0/python/call_handles.hpp"

#include <Python.h>

#include <pthread.h>

#include <atomic>

#include "m0/python/python_type.hpp"

namespace m0::python {
namespace {

/// What the three callables share: which request they mean, if any.
class Binding {
 public:
  void bind(CallTarget* target) noexcept {
    lock();
    target_ = target;
    owner_ = pthread_self();
    unlock();
  }

  /// For the request's own thread; null with an exception elsewhere and after the request.
  CallTarget* own_target() noexcept {
    lock();
    CallTarget* const target = target_;
    const bool own = pthread_equal(owner_, pthread_self()) != 0;
    unlock();
    if (target == nullptr) {
      PyErr_SetString(PyExc_RuntimeError, "this request has ended");
    } else if (!own) {
      PyErr_SetString(PyExc_RuntimeError, "start_response and write belong to the thread that the request runs on");
      return nullptr;
    }
    return target;
  }

  bool disconnected() noexcept {
    lock();
    const bool gone = target_ == nullptr || target_->client_left();
    unlock();
    return gone;
  }

 private:
  // Held for a few instructions that never call Python: a thread that looks after another's request must not find it
  // ending underneath, with an interpreter lock or without one.
  void lock() noexcept {
    while (busy_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() noexcept { busy_.clear(std::memory_order_release); }

  std::atomic_flag busy_;
  CallTarget* target_ = nullptr;
  pthread_t owner_{};
};

PyObject* start_response(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) noexcept {
  PyObject* exc_info = count == 3 ? arguments[2] : Py_None;
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_Size(names);
  bool fits = count == 2 || count == 3;
  if (named != 0) {
    fits = count == 2 && named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "exc_info") == 0;
    exc_info = fits ? arguments[2] : Py_None;
  }
  if (!fits) {
    PyErr_SetString(PyExc_TypeError, "start_response(status, headers[, exc_info]): wrong arguments");
    return nullptr;
  }
  CallTarget* const target = payload_of<Binding>(self).own_target();
  return target == nullptr ? nullptr : target->start_response(arguments[0], arguments[1], exc_info);
}

PyObject* write(PyObject* self, PyObject* bytes) noexcept {
  CallTarget* const target = payload_of<Binding>(self).own_target();
  return target == nullptr ? nullptr : target->write(bytes);
}

PyObject* disconnected(PyObject* self, PyObject*) noexcept {
  return PyBool_FromLong(payload_of<Binding>(self).disconnected() ? 1 : 0);
}

PyMethodDef g_start_response = {"start_response", method(start_response), METH_FASTCALL | METH_KEYWORDS,
                                "start_response(status, headers, exc_info=None) -> write"};
PyMethodDef g_write = {"write", method(write), METH_O, "write(data): sends bytes of the body"};
PyMethodDef g_disconnected = {"disconnected", method(disconnected), METH_NOARGS,
                              "disconnected() -> bool: whether nobody waits for this request's answer any more"};

}  // namespace

PyRef CallHandles::make_type() noexcept {
  static PyType_Slot slots[] = {{Py_tp_dealloc, slot(dealloc_instance<Binding>)}, {0, nullptr}};
  return python::make_type<Binding>("m0serve.Request", slots);
}

bool CallHandles::kept_by_someone(Py_ssize_t shared) const noexcept {
#ifdef Py_GIL_DISABLED
  static_cast<void>(shared);
  return true;  // a count read on one thread says nothing about the others there
#else
  constexpr Py_ssize_t kOurs = 1;
  constexpr Py_ssize_t kCallables = 3;
  return Py_REFCNT(start_response_.get()) != kOurs || Py_REFCNT(write_.get()) != kOurs ||
         Py_REFCNT(disconnected_.get()) != kOurs + shared || Py_REFCNT(binding_.get()) != kOurs + kCallables;
#endif
}

bool CallHandles::make() noexcept {
  binding_ = make_instance<Binding>(type_);
  if (!binding_) return false;
  start_response_ = PyRef(PyCFunction_NewEx(&g_start_response, binding_.get(), nullptr));
  write_ = PyRef(PyCFunction_NewEx(&g_write, binding_.get(), nullptr));
  disconnected_ = PyRef(PyCFunction_NewEx(&g_disconnected, binding_.get(), nullptr));
  if (start_response_ && write_ && disconnected_) return true;
  binding_.reset();
  return false;
}

bool CallHandles::begin(CallTarget& target, Py_ssize_t shared) noexcept {
  made_anew_ = !binding_ || kept_by_someone(shared);
  if (made_anew_ && !make()) return false;
  payload_of<Binding>(binding_.get()).bind(&target);
  return true;
}

void CallHandles::end() noexcept { payload_of<Binding>(binding_.get()).bind(nullptr); }

}  // namespace m0::python
