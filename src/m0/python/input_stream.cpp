#include "m0/python/input_stream.hpp"

#include <Python.h>

#include <cerrno>
#include <optional>

#include "m0/python/body_reader.hpp"
#include "m0/python/gil.hpp"
#include "m0/python/python_type.hpp"

namespace m0::python {
namespace {

/// Attached, any thread. `empty` streams have no body and no state, so they are shared.
struct InputStream {
  explicit InputStream(bool is_empty) noexcept : empty(is_empty) {}
  BodyReader reader;
  bool empty;
};

PyObject* empty_bytes() noexcept { return PyBytes_FromStringAndSize("", 0); }

PyObject* raise(BodyReader::Status status) noexcept {
  if (status == BodyReader::Status::Over) {
    PyErr_SetString(PyExc_ValueError, "wsgi.input was read after its request had ended");
  } else {
    errno = BodyReader::error();
    PyErr_SetFromErrno(PyExc_OSError);
  }
  return nullptr;
}

/// The optional size argument of read and its relatives: none, None or negative mean all.
std::optional<std::size_t> size_argument(const char* name, PyObject* const* arguments, Py_ssize_t count) noexcept {
  if (count > 1) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most 1 argument (%zd given)", name, count);
    return std::nullopt;
  }
  if (count == 0 || arguments[0] == Py_None) return BodyReader::kAll;
  const Py_ssize_t size = PyNumber_AsSsize_t(arguments[0], PyExc_OverflowError);
  if (size == -1 && PyErr_Occurred() != nullptr) return std::nullopt;
  return size < 0 ? BodyReader::kAll : static_cast<std::size_t>(size);
}

PyObject* claimed_bytes(BodyReader& reader, const BodyReader::Claim& claimed, bool in_memory) noexcept {
  if (claimed.size == 0) return empty_bytes();
  PyRef bytes(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(claimed.size)));
  if (!bytes) return nullptr;
  const std::span<char> into(PyBytes_AsString(bytes.get()), claimed.size);
  BodyReader::Status status;
  if (in_memory) {
    status = reader.fill(claimed, into);
  } else {
    const GilReleased released;
    status = reader.fill(claimed, into);
  }
  return status == BodyReader::Status::Ok ? bytes.release() : raise(status);
}

PyObject* next_line(BodyReader& reader, std::size_t most) noexcept {
  const bool in_memory = reader.in_memory();
  BodyReader::Claim claimed;
  BodyReader::Status status;
  if (in_memory) {
    status = reader.claim_line(most, claimed);
  } else {
    const GilReleased released;
    status = reader.claim_line(most, claimed);
  }
  return status == BodyReader::Status::Ok ? claimed_bytes(reader, claimed, in_memory) : raise(status);
}

PyObject* read(PyObject* self, PyObject* const* arguments, Py_ssize_t count) noexcept {
  const std::optional<std::size_t> most = size_argument("read", arguments, count);
  if (!most) return nullptr;
  InputStream& input = payload_of<InputStream>(self);
  if (input.empty) return empty_bytes();
  BodyReader::Claim claimed;
  const BodyReader::Status status = input.reader.claim(*most, claimed);
  if (status != BodyReader::Status::Ok) return raise(status);
  return claimed_bytes(input.reader, claimed, input.reader.in_memory());
}

PyObject* readline(PyObject* self, PyObject* const* arguments, Py_ssize_t count) noexcept {
  const std::optional<std::size_t> most = size_argument("readline", arguments, count);
  if (!most) return nullptr;
  InputStream& input = payload_of<InputStream>(self);
  return input.empty ? empty_bytes() : next_line(input.reader, *most);
}

/// `hint`: no further line once that many bytes were read; 0 and less mean no bound, as in io.
PyObject* readlines(PyObject* self, PyObject* const* arguments, Py_ssize_t count) noexcept {
  std::optional<std::size_t> hint = size_argument("readlines", arguments, count);
  if (!hint) return nullptr;
  if (*hint == 0) hint = BodyReader::kAll;
  PyRef lines(PyList_New(0));
  InputStream& input = payload_of<InputStream>(self);
  if (!lines || input.empty) return lines.release();
  std::size_t total = 0;
  while (total < *hint) {
    const PyRef line(next_line(input.reader, BodyReader::kAll));
    if (!line) return nullptr;
    const auto size = static_cast<std::size_t>(PyBytes_Size(line.get()));
    if (size == 0) break;
    if (PyList_Append(lines.get(), line.get()) != 0) return nullptr;
    total += size;
  }
  return lines.release();
}

PyObject* iterate(PyObject* self) noexcept { return Py_NewRef(self); }

PyObject* next(PyObject* self) noexcept {
  InputStream& input = payload_of<InputStream>(self);
  if (input.empty) return nullptr;
  PyRef line(next_line(input.reader, BodyReader::kAll));
  if (!line || PyBytes_Size(line.get()) == 0) return nullptr;
  return line.release();
}

}  // namespace

PyRef make_input_stream_type() noexcept {
  static PyMethodDef methods[] = {
      {"read", method(read), METH_FASTCALL, "read([size]) -> bytes: the rest of the body, or at most size bytes of it"},
      {"readline", method(readline), METH_FASTCALL, "readline([size]) -> bytes: up to and with the next newline"},
      {"readlines", method(readlines), METH_FASTCALL, "readlines([hint]) -> list[bytes]"},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, slot(dealloc_instance<InputStream>)},
      {Py_tp_methods, methods},
      {Py_tp_iter, slot(iterate)},
      {Py_tp_iternext, slot(next)},
      {0, nullptr},
  };
  return make_type<InputStream>("m0serve.InputStream", slots);
}

PyRef make_empty_input(PyObject* type) noexcept { return make_instance<InputStream>(type, true); }

PyRef make_input(PyObject* type, const handler::BodyStore& body) noexcept {
  PyRef input = make_instance<InputStream>(type, false);
  if (input) payload_of<InputStream>(input.get()).reader.attach(body);
  return input;
}

void close_input(PyObject* input) noexcept { payload_of<InputStream>(input).reader.detach(); }

}  // namespace m0::python
