#include "m0/python/file_wrapper.hpp"

#include <Python.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>

namespace m0::python {
namespace {

/// Above the numbers that an application's select() can hold, where there is room.
int duplicate(int descriptor) noexcept {
  constexpr int kAboveSelect = 1024;
  const int high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kAboveSelect);
  return high >= 0 ? high : ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

}  // namespace

bool send_file(const Interpreter& interpreter, PyObject* wrapper, Answer& answer) {
  // Nothing will be sent, so nothing is opened again.
  if (answer.bodyless() && !answer.declared()) return false;
  const PyRef found(PyObject_CallFunctionObjArgs(interpreter.sendable(), wrapper, nullptr));
  if (!found || found.get() == Py_None) return false;
  int descriptor = -1;
  long long offset = 0;
  if (PyArg_ParseTuple(found.get(), "iL", &descriptor, &offset) == 0) return false;

  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode) || offset < 0) return false;
  const std::uint64_t left = static_cast<std::uint64_t>(std::max<long long>(facts.st_size - offset, 0));
  const std::uint64_t length = answer.declared().value_or(left);
  if (length > left || length == 0) return false;
  base::Fd own(duplicate(descriptor));
  if (!own) return false;
  answer.give_file(std::move(own), static_cast<std::uint64_t>(offset), length);
  return true;
}

}  // namespace m0::python
