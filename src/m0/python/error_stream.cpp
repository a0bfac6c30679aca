#include "m0/python/error_stream.hpp"

#include <Python.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "m0/base/logger.hpp"
#include "m0/python/python_type.hpp"
#include "m0/python/text.hpp"

namespace m0::python {
namespace {

/// Any thread. Never calls Python while its lock is held.
class ErrorStream {
 public:
  void write(std::string_view text) {
    const std::lock_guard lock(mutex_);
    while (!text.empty()) {
      const std::size_t newline = text.find('\n');
      // A line without an end would grow without one; a log line has a bound.
      const std::size_t take = std::min({newline, text.size(), kLongest - line_.size()});
      line_.append(text.substr(0, take));
      text.remove_prefix(take);
      if (take == newline) text.remove_prefix(1);
      if (take == newline || line_.size() == kLongest) end_line();
    }
    unfinished_.store(!line_.empty(), std::memory_order_relaxed);
  }

  void flush() noexcept {
    if (!unfinished_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    if (!line_.empty()) end_line();
  }

 private:
  static constexpr std::size_t kLongest = 64 * 1024;

  void end_line() noexcept {
    base::log::write(base::LogLevel::Error, line_);
    line_.clear();
    unfinished_.store(false, std::memory_order_relaxed);
  }

  std::mutex mutex_;
  std::string line_;
  std::atomic<bool> unfinished_{false};  // asked after every request, so without the lock
};

bool write_text(ErrorStream& stream, PyObject* text) noexcept {
  if (!PyUnicode_Check(text)) {
    PyErr_Format(PyExc_TypeError, "wsgi.errors takes str, not %.100R", Py_TYPE(text));
    return false;
  }
  const PyRef bytes(PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace"));
  if (!bytes) return false;
  try {
    stream.write(bytes_view(bytes.get()));
    return true;
  } catch (...) {
    PyErr_NoMemory();
    return false;
  }
}

PyObject* write(PyObject* self, PyObject* text) noexcept {
  if (!write_text(payload_of<ErrorStream>(self), text)) return nullptr;
  return PyLong_FromSsize_t(PyUnicode_GetLength(text));
}

PyObject* writelines(PyObject* self, PyObject* lines) noexcept {
  const PyRef iterator(PyObject_GetIter(lines));
  if (!iterator) return nullptr;
  while (const PyRef line{PyIter_Next(iterator.get())}) {
    if (!write_text(payload_of<ErrorStream>(self), line.get())) return nullptr;
  }
  return PyErr_Occurred() != nullptr ? nullptr : Py_NewRef(Py_None);
}

PyObject* flush(PyObject* self, PyObject*) noexcept {
  payload_of<ErrorStream>(self).flush();
  return Py_NewRef(Py_None);
}

}  // namespace

PyRef make_error_stream_type() noexcept {
  static PyMethodDef methods[] = {
      {"write", method(write), METH_O, "write(text): each line becomes a line of the server's log"},
      {"writelines", method(writelines), METH_O, "writelines(lines)"},
      {"flush", method(flush), METH_NOARGS, "flush(): ends a line that has no newline yet"},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, slot(dealloc_instance<ErrorStream>)},
      {Py_tp_methods, methods},
      {0, nullptr},
  };
  return make_type<ErrorStream>("m0serve.ErrorStream", slots);
}

PyRef make_error_stream(PyObject* type) noexcept { return make_instance<ErrorStream>(type); }

void end_error_line(PyObject* stream) noexcept { payload_of<ErrorStream>(stream).flush(); }

}  // namespace m0::python
