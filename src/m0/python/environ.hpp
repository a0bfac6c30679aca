#pragma once
// A request as the dict that PEP 3333 describes.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "m0/handler/exchange.hpp"
#include "m0/python/interpreter.hpp"
#include "m0/python/py_ref.hpp"

namespace m0::python {

/// One pool thread's: it keeps a prepared dict for each listener and the strings that came last. Attached, that thread
/// only.
class EnvironBuilder {
 public:
  explicit EnvironBuilder(const Interpreter& interpreter) noexcept : interpreter_(interpreter) {}

  /// The object behind m0serve.disconnected from now on. False with an exception.
  [[nodiscard]] bool use_disconnected(PyObject* disconnected) noexcept;
  /// How many references to it are held here.
  [[nodiscard]] Py_ssize_t disconnected_references() const noexcept {
    return static_cast<Py_ssize_t>(templates_.size());
  }

  /// The whole environ but for wsgi.input of a request with a body. Null with an exception.
  [[nodiscard]] PyRef build(const handler::Exchange& exchange) noexcept;

  /// wsgi.errors of this thread; null before the first request.
  [[nodiscard]] PyObject* errors() const noexcept { return errors_.get(); }

 private:
  struct Template {
    const handler::ListenerInfo* listener;
    PyRef dict;
  };
  /// The str made last for some bytes.
  struct LastText {
    std::string bytes;
    PyRef text;
  };

  struct PortText {
    std::uint16_t port = 0;
    PyRef text;
  };

  [[nodiscard]] PyObject* template_for(const handler::ListenerInfo* listener);
  [[nodiscard]] PyRef make_template(const handler::ListenerInfo* listener);
  /// Borrowed; null with an exception. Comparing costs a fifth of making a str and dropping it.
  [[nodiscard]] PyObject* text(LastText& last, std::string_view bytes);
  [[nodiscard]] bool add_request_line(PyObject* environ, const handler::Exchange& exchange);
  [[nodiscard]] bool add_path(PyObject* environ, const handler::Exchange& exchange);
  /// Without its escapes; valid until the next call.
  [[nodiscard]] std::string_view decoded(std::string_view path);
  [[nodiscard]] bool add_peer(PyObject* environ, const handler::Exchange& exchange);
  [[nodiscard]] bool add_fields(PyObject* environ, const handler::Exchange& exchange);
  [[nodiscard]] bool add_known(PyObject* environ, std::size_t index, std::string_view value);
  [[nodiscard]] bool add_unknown(PyObject* environ, std::string_view name, std::string_view value);
  [[nodiscard]] bool append(PyObject* environ, PyObject* key, std::string_view separator, std::string_view value);

  const Interpreter& interpreter_;
  PyRef errors_;
  PyObject* disconnected_ = nullptr;  // borrowed from the call handles
  std::vector<Template> templates_;
  std::array<LastText, kKnownFields.size()> last_values_;
  LastText last_method_;
  LastText last_mount_;
  LastText last_path_;
  LastText last_target_;
  handler::PeerAddress last_peer_;
  PyRef last_address_;
  std::array<PortText, 128> ports_;  // by the port's low bits: kept connections come back with theirs
  PyRef http10_;
  std::string scratch_;
};

}  // namespace m0::python
