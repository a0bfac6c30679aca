#include "m0/python/exception.hpp"

#include <atomic>

#include "m0/base/logger.hpp"
#include "m0/python/py_ref.hpp"
#include "m0/python/text.hpp"

namespace m0::python {
namespace {

std::atomic<PyObject*> g_format_exception{nullptr};  // of the traceback module; kept for the process's life

struct Raised {
  PyRef type;
  PyRef value;
  PyRef trace;
};

Raised take_raised() noexcept {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  return {PyRef(type), PyRef(value), PyRef(trace)};
}

PyRef format(const Raised& raised) noexcept {
  if (g_format_exception.load(std::memory_order_acquire) == nullptr && !prepare_tracebacks()) return {};
  PyObject* const trace = raised.trace ? raised.trace.get() : Py_None;
  const PyRef lines(PyObject_CallFunctionObjArgs(g_format_exception.load(std::memory_order_acquire), raised.type.get(),
                                                 raised.value.get(), trace, nullptr));
  if (!lines) return {};
  const PyRef nothing(PyUnicode_FromStringAndSize("", 0));
  if (!nothing) return {};
  const PyRef joined(PyUnicode_Join(nothing.get(), lines.get()));
  if (!joined) return {};
  return PyRef(PyUnicode_AsEncodedString(joined.get(), "utf-8", "backslashreplace"));
}

std::string type_name(const Raised& raised) {
  const PyRef name(PyObject_GetAttrString(raised.type.get(), "__name__"));
  const PyRef bytes(name ? PyUnicode_AsEncodedString(name.get(), "utf-8", "backslashreplace") : nullptr);
  PyErr_Clear();
  return bytes ? std::string(bytes_view(bytes.get())) : std::string("an exception");
}

}  // namespace

bool prepare_tracebacks() noexcept {
  if (g_format_exception.load(std::memory_order_acquire) != nullptr) return true;
  const PyRef module(PyImport_ImportModule("traceback"));
  if (!module) return false;
  PyRef function(PyObject_GetAttrString(module.get(), "format_exception"));
  if (!function) return false;
  PyObject* none = nullptr;
  if (g_format_exception.compare_exchange_strong(none, function.get())) static_cast<void>(function.release());
  return true;
}

std::string take_traceback() noexcept {
  try {
    const Raised raised = take_raised();
    if (!raised.type) return {};
    const PyRef text = format(raised);
    PyErr_Clear();
    if (text) return std::string(bytes_view(text.get()));
    return type_name(raised) + " (its traceback could not be formatted)\n";
  } catch (...) {  // no memory for the text; the exception itself is gone
    return {};
  }
}

void log_exception(std::string_view what) noexcept {
  const std::string trace = take_traceback();
  try {
    std::string text(what);
    std::size_t at = 0;
    while (at < trace.size()) {
      std::size_t end = trace.find('\n', at);
      if (end == std::string::npos) end = trace.size();
      text.append("\n  ").append(trace, at, end - at);
      at = end + 1;
    }
    base::log::write(base::LogLevel::Error, text);
  } catch (...) {
    base::log::write(base::LogLevel::Error, "an exception of the application could not be logged: no memory");
  }
}

}  // namespace m0::python
