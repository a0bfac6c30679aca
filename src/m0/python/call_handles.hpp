#pragma once
// The callables that an application gets for one request: start_response, write and m0serve.disconnected.

#include "m0/python/py_ref.hpp"

namespace m0::python {

/// Who answers them: the request that runs. Attached; client_left() on any thread, the others on the request's own.
class CallTarget {
 public:
  /// New reference, or null with an exception.
  virtual PyObject* start_response(PyObject* status, PyObject* headers, PyObject* exc_info) noexcept = 0;
  virtual PyObject* write(PyObject* bytes) noexcept = 0;
  [[nodiscard]] virtual bool client_left() const noexcept = 0;

 protected:
  ~CallTarget() = default;
};

/// One pool thread's, used again from request to request: making three callables for each would cost a tenth of a bare
/// request. A set that the application kept is left to it, unbound, and a new one is made. Attached, that thread only.
class CallHandles {
 public:
  /// The type behind them; once a process. Null with an exception.
  [[nodiscard]] static PyRef make_type() noexcept;

  /// `type` lives as long as the process.
  explicit CallHandles(PyObject* type) noexcept : type_(type) {}

  /// Binds to `target` until end(). False with an exception. Templates of environ hold `disconnected`, so made_anew()
  /// says when it is another object than before, and `shared` how many references there are besides our own.
  [[nodiscard]] bool begin(CallTarget& target, Py_ssize_t shared) noexcept;
  void end() noexcept;
  [[nodiscard]] bool made_anew() const noexcept { return made_anew_; }

  [[nodiscard]] PyObject* start_response() const noexcept { return start_response_.get(); }
  [[nodiscard]] PyObject* write() const noexcept { return write_.get(); }
  [[nodiscard]] PyObject* disconnected() const noexcept { return disconnected_.get(); }

 private:
  [[nodiscard]] bool kept_by_someone(Py_ssize_t shared) const noexcept;
  [[nodiscard]] bool make() noexcept;

  PyObject* type_;
  PyRef binding_;
  PyRef start_response_;
  PyRef write_;
  PyRef disconnected_;
  bool made_anew_ = false;
};

}  // namespace m0::python
