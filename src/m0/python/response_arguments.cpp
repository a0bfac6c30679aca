#include "m0/python/response_arguments.hpp"

#include <Python.h>

#include <optional>
#include <string_view>

#include "m0/base/bytes.hpp"
#include "m0/python/text.hpp"

namespace m0::python {
namespace {

bool refuse(const char* sentence) noexcept {
  PyErr_SetString(PyExc_ValueError, sentence);
  return false;
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool read_status(PyObject* status, http::ResponseHead& head) {
  PyRef keeper;
  const std::optional<std::string_view> text = latin1_view(status, keeper, "the status");
  if (!text) return false;
  if (text->size() < 3 || !is_digit((*text)[0]) || !is_digit((*text)[1]) || !is_digit((*text)[2]) ||
      (text->size() > 3 && (*text)[3] != ' ')) {
    return refuse("the status must be three digits, a space and a reason, like '200 OK'");
  }
  head.status = ((*text)[0] - '0') * 100 + ((*text)[1] - '0') * 10 + ((*text)[2] - '0');
  // 1xx is the server's to send: the answer proper would never follow (RFC 9110 15.2).
  if (head.status < 200 || head.status > 599) return refuse("the status must be between 200 and 599");
  const std::string_view reason = text->size() > 4 ? text->substr(4) : std::string_view();
  if (!http::is_field_value(reason)) return refuse("the status has a control character");
  head.reason.assign(reason);
  return true;
}

bool read_content_length(std::string_view value, http::BodyLength& declared) noexcept {
  value = base::trim_ows(value);
  if (value.empty() || value.size() > 18) return refuse("Content-Length must be a decimal number");
  std::uint64_t length = 0;
  for (const char c : value) {
    if (!is_digit(c)) return refuse("Content-Length must be a decimal number");
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (declared && *declared != length) return refuse("two different Content-Length headers");
  declared = length;
  return true;
}

bool read_header(PyObject* name_object, PyObject* value_object, http::ResponseHead& head, http::BodyLength& declared) {
  PyRef name_keeper;
  PyRef value_keeper;
  const std::optional<std::string_view> name = latin1_view(name_object, name_keeper, "a header name");
  if (!name) return false;
  const std::optional<std::string_view> value = latin1_view(value_object, value_keeper, "a header value");
  if (!value) return false;
  if (!http::is_token(*name)) return refuse("a header name may hold only letters, digits and !#$%&'*+-.^_`|~");
  if (!http::is_field_value(*value)) return refuse("a header value has a control character, such as a line break");
  constexpr std::string_view kContentLength = "content-length";
  if (name->size() == kContentLength.size() && base::iequals(*name, kContentLength)) {
    const bool repeated = declared.has_value();
    if (!read_content_length(*value, declared)) return false;
    if (repeated) return true;
  }
  head.fields.add(*name, *value);
  return true;
}

bool read_item(PyObject* item, http::ResponseHead& head, http::BodyLength& declared) {
  // PEP 3333 wants tuples; pairs of another kind are what other servers take too.
  PyRef converted;
  if (!PyTuple_Check(item)) {
    converted = PyRef(PySequence_Tuple(item));
    if (!converted) return false;
    item = converted.get();
  }
  if (PyTuple_Size(item) != 2) {
    PyErr_SetString(PyExc_TypeError, "each header must be a tuple of a name and a value");
    return false;
  }
  return read_header(PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1), head, declared);
}

bool read_headers(PyObject* headers, http::ResponseHead& head, http::BodyLength& declared) {
  PyRef converted;
  if (!PyList_Check(headers)) {
    converted = PyRef(PySequence_List(headers));
    if (!converted) return false;
    headers = converted.get();
  }
  // The size is asked each time: converting an item can run code that changes the list.
  for (Py_ssize_t i = 0; i < PyList_Size(headers); ++i) {
    const PyRef item = PyRef::borrow(PyList_GetItem(headers, i));
    if (!item || !read_item(item.get(), head, declared)) return false;
  }
  return true;
}

}  // namespace

bool read_response_arguments(PyObject* status, PyObject* headers, http::ResponseHead& head,
                             http::BodyLength& declared) noexcept {
  try {
    head.clear();
    declared.reset();
    return read_status(status, head) && read_headers(headers, head, declared);
  } catch (...) {
    PyErr_NoMemory();
    return false;
  }
}

}  // namespace m0::python
