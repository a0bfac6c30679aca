#include "m0/python/interpreter.hpp"

#include <Python.h>

#include <cstring>
#include <string>

#include "m0/base/logger.hpp"
#include "m0/python/call_handles.hpp"
#include "m0/python/error_stream.hpp"
#include "m0/python/exception.hpp"
#include "m0/python/input_stream.hpp"
#include "m0/python/text.hpp"

namespace m0::python {
namespace {

/// Keeps the reference for the process's life; throws when there is none.
PyObject* keep(PyRef object) {
  if (object) return object.release();
  const std::string trace = take_traceback();
  base::log::write(base::LogLevel::Error, trace);
  throw handler::LoadError("the Python interpreter cannot be prepared: the traceback above says why");
}

PyObject* keep_key(std::string_view name) { return keep(PyRef(PyUnicode_InternFromString(std::string(name).c_str()))); }

PyRef attribute_of(const char* module, const char* name) {
  const PyRef imported(PyImport_ImportModule(module));
  return imported ? PyRef(PyObject_GetAttrString(imported.get(), name)) : PyRef();
}

PyObject* iterator_type_of(PyRef sequence) {
  const PyRef iterator(sequence ? PyObject_GetIter(sequence.get()) : nullptr);
  return keep(iterator ? PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(iterator.get()))) : PyRef());
}

}  // namespace

Interpreter::Interpreter(const handler::Application::Surroundings& surroundings) {
  if (!prepare_tracebacks()) keep(PyRef());
  make_keys();
  make_types();
  make_common(surroundings);
}

void Interpreter::make_keys() {
  keys_.request_method = keep_key("REQUEST_METHOD");
  keys_.script_name = keep_key("SCRIPT_NAME");
  keys_.path_info = keep_key("PATH_INFO");
  keys_.query_string = keep_key("QUERY_STRING");
  keys_.request_uri = keep_key("REQUEST_URI");
  keys_.content_length = keep_key("CONTENT_LENGTH");
  keys_.server_name = keep_key("SERVER_NAME");
  keys_.server_port = keep_key("SERVER_PORT");
  keys_.server_protocol = keep_key("SERVER_PROTOCOL");
  keys_.server_software = keep_key("SERVER_SOFTWARE");
  keys_.remote_addr = keep_key("REMOTE_ADDR");
  keys_.remote_port = keep_key("REMOTE_PORT");
  keys_.http_host = keep_key("HTTP_HOST");
  keys_.wsgi_version = keep_key("wsgi.version");
  keys_.wsgi_url_scheme = keep_key("wsgi.url_scheme");
  keys_.wsgi_input = keep_key("wsgi.input");
  keys_.wsgi_input_terminated = keep_key("wsgi.input_terminated");
  keys_.wsgi_errors = keep_key("wsgi.errors");
  keys_.wsgi_multithread = keep_key("wsgi.multithread");
  keys_.wsgi_multiprocess = keep_key("wsgi.multiprocess");
  keys_.wsgi_run_once = keep_key("wsgi.run_once");
  keys_.wsgi_file_wrapper = keep_key("wsgi.file_wrapper");
  keys_.disconnected = keep_key("m0serve.disconnected");
  for (std::size_t i = 0; i < kKnownFields.size(); ++i) {
    keys_.fields[i] = kKnownFields[i].key.empty() ? nullptr : keep_key(kKnownFields[i].key);
  }
}

void Interpreter::make_types() {
  input_stream_type_ = keep(make_input_stream_type());
  error_stream_type_ = keep(make_error_stream_type());
  handles_type_ = keep(CallHandles::make_type());
  empty_input_ = keep(make_empty_input(input_stream_type_));
  empty_text_ = keep(latin1_text(""));
  close_name_ = keep_key("close");
  file_wrapper_type_ = keep(attribute_of("m0serve._file_wrapper", "FileWrapper"));
  sendable_ = keep(attribute_of("m0serve._file_wrapper", "sendable"));
  list_iterator_type_ = iterator_type_of(PyRef(PyList_New(0)));
  tuple_iterator_type_ = iterator_type_of(PyRef(PyTuple_New(0)));
}

void Interpreter::make_common(const handler::Application::Surroundings& surroundings) {
  common_environ_ = keep(PyRef(PyDict_New()));
  const auto set = [this](PyObject* key, PyRef value) {
    if (!value || PyDict_SetItem(common_environ_, key, value.get()) != 0) keep(PyRef());
  };
  const auto boolean = [](bool value) { return PyRef::borrow(value ? Py_True : Py_False); };
  set(keys_.wsgi_version, PyRef(Py_BuildValue("(ii)", 1, 0)));
  set(keys_.wsgi_url_scheme, latin1_text("http"));
  set(keys_.wsgi_input, PyRef::borrow(empty_input_));
  set(keys_.wsgi_input_terminated, boolean(true));
  set(keys_.wsgi_multithread, boolean(surroundings.multithread));
  set(keys_.wsgi_multiprocess, boolean(surroundings.multiprocess));
  set(keys_.wsgi_run_once, boolean(false));
  set(keys_.wsgi_file_wrapper, PyRef::borrow(file_wrapper_type_));
  set(keys_.server_software, latin1_text("m0serve/" M0_VERSION));
  set(keys_.script_name, PyRef::borrow(empty_text_));
  set(keys_.query_string, PyRef::borrow(empty_text_));
}

PyRef Interpreter::new_common_environ() const noexcept { return PyRef(PyDict_Copy(common_environ_)); }

}  // namespace m0::python
