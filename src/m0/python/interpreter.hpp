#pragma once
// What every request of a process needs from the interpreter: interned keys, constants, types.

#include <array>

#include "m0/handler/application.hpp"
#include "m0/python/field_names.hpp"
#include "m0/python/py_ref.hpp"
#include "m0/python/returned_bytes.hpp"

namespace m0::python {

/// Built once, attached; read by all threads afterwards. Its references are never dropped: the interpreter is never
/// finalized while threads may be inside views, so there is no moment at which dropping them would be right.
class Interpreter {
 public:
  /// Throws LoadError, with the traceback in the log.
  explicit Interpreter(const handler::Application::Surroundings& surroundings);
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  struct Keys {
    PyObject* request_method;
    PyObject* script_name;
    PyObject* path_info;
    PyObject* query_string;
    PyObject* request_uri;
    PyObject* content_length;
    PyObject* server_name;
    PyObject* server_port;
    PyObject* server_protocol;
    PyObject* server_software;
    PyObject* remote_addr;
    PyObject* remote_port;
    PyObject* http_host;
    PyObject* wsgi_version;
    PyObject* wsgi_url_scheme;
    PyObject* wsgi_input;
    PyObject* wsgi_input_terminated;
    PyObject* wsgi_errors;
    PyObject* wsgi_multithread;
    PyObject* wsgi_multiprocess;
    PyObject* wsgi_run_once;
    PyObject* wsgi_file_wrapper;
    PyObject* disconnected;
    std::array<PyObject*, kKnownFields.size()> fields;  // null: that field never reaches the application
  };
  [[nodiscard]] const Keys& keys() const noexcept { return keys_; }

  [[nodiscard]] PyObject* empty_text() const noexcept { return empty_text_; }
  [[nodiscard]] PyObject* close_name() const noexcept { return close_name_; }
  [[nodiscard]] PyObject* empty_input() const noexcept { return empty_input_; }
  [[nodiscard]] PyObject* input_stream_type() const noexcept { return input_stream_type_; }
  [[nodiscard]] PyObject* error_stream_type() const noexcept { return error_stream_type_; }
  [[nodiscard]] PyObject* handles_type() const noexcept { return handles_type_; }
  [[nodiscard]] PyObject* file_wrapper_type() const noexcept { return file_wrapper_type_; }
  /// m0serve._file_wrapper.sendable(wrapper) -> (descriptor, offset) | None
  [[nodiscard]] PyObject* sendable() const noexcept { return sendable_; }

  /// An iterator over a list or a tuple: what is left of it is there already, so taking it all delays nothing.
  [[nodiscard]] bool is_at_hand(PyObject* iterator) const noexcept {
    PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(iterator));
    return type == list_iterator_type_ || type == tuple_iterator_type_;
  }

  /// A dict with what all requests have in common.
  [[nodiscard]] PyRef new_common_environ() const noexcept;

  /// What the application's large bodies leave behind for a thread that is attached.
  [[nodiscard]] ReturnedBytes& returned() const noexcept { return returned_; }

 private:
  void make_keys();
  void make_types();
  void make_common(const handler::Application::Surroundings& surroundings);

  Keys keys_{};
  PyObject* empty_text_ = nullptr;
  PyObject* close_name_ = nullptr;
  PyObject* empty_input_ = nullptr;
  PyObject* input_stream_type_ = nullptr;
  PyObject* error_stream_type_ = nullptr;
  PyObject* handles_type_ = nullptr;
  PyObject* file_wrapper_type_ = nullptr;
  PyObject* sendable_ = nullptr;
  PyObject* list_iterator_type_ = nullptr;
  PyObject* tuple_iterator_type_ = nullptr;
  PyObject* common_environ_ = nullptr;
  mutable ReturnedBytes returned_;
};

}  // namespace m0::python
