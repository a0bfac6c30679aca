#include "m0/python/environ.hpp"

#include <Python.h>

#include <arpa/inet.h>

#include <cstdint>

#include "m0/base/bytes.hpp"
#include "m0/http/percent.hpp"
#include "m0/python/error_stream.hpp"
#include "m0/python/text.hpp"

namespace m0::python {
namespace {

// Longer values are rarely sent twice and would be kept for long.
constexpr std::size_t kLongestKept = 256;

bool set(PyObject* environ, PyObject* key, PyObject* value) noexcept {
  return value != nullptr && PyDict_SetItem(environ, key, value) == 0;
}

PyRef address_text(const handler::PeerAddress& peer) noexcept {
  if (peer.family == handler::PeerAddress::Family::None) return latin1_text("");
  char text[INET6_ADDRSTRLEN];
  const int family = peer.family == handler::PeerAddress::Family::V4 ? AF_INET : AF_INET6;
  return latin1_text(inet_ntop(family, peer.bytes.data(), text, sizeof text) == nullptr ? "" : text);
}

PyRef decimal_text(std::uint64_t number) {
  std::string digits;
  base::append_decimal(digits, number);
  return latin1_text(digits);
}

}  // namespace

PyObject* EnvironBuilder::text(LastText& last, std::string_view bytes) {
  if (last.text && last.bytes == bytes) return last.text.get();
  PyRef made = latin1_text(bytes);
  if (!made) return nullptr;
  // A NUL is in no method, target or field value: what is not worth keeping never compares equal.
  last.bytes.assign(bytes.size() <= kLongestKept ? bytes : std::string_view("\0", 1));
  last.text = std::move(made);
  return last.text.get();
}

bool EnvironBuilder::use_disconnected(PyObject* disconnected) noexcept {
  // The builder keeps no reference beside those in its templates, so that they can be counted.
  for (Template& each : templates_) {
    if (PyDict_SetItem(each.dict.get(), interpreter_.keys().disconnected, disconnected) != 0) return false;
  }
  disconnected_ = disconnected;
  return true;
}

PyRef EnvironBuilder::make_template(const handler::ListenerInfo* listener) {
  const Interpreter::Keys& keys = interpreter_.keys();
  if (!errors_) errors_ = make_error_stream(interpreter_.error_stream_type());
  PyRef dict = interpreter_.new_common_environ();
  if (!errors_ || !dict) return {};
  const bool has_port = listener != nullptr && !listener->server_port.empty();
  const bool has_name = listener != nullptr && !listener->server_name.empty();
  PyObject* const empty = interpreter_.empty_text();
  const PyRef get = latin1_text("GET");
  const PyRef http11 = latin1_text("HTTP/1.1");
  // Neither may be empty (PEP 3333, "environ Variables"); a Unix socket has no port.
  const PyRef name = latin1_text(has_name ? std::string_view(listener->server_name) : "localhost");
  const PyRef port = latin1_text(has_port ? std::string_view(listener->server_port) : "80");
  bool ok = set(dict.get(), keys.wsgi_errors, errors_.get()) && set(dict.get(), keys.server_name, name.get()) &&
            set(dict.get(), keys.server_port, port.get()) && set(dict.get(), keys.server_protocol, http11.get()) &&
            set(dict.get(), keys.disconnected, disconnected_);
  // What every request sets has its place in the copy already.
  for (PyObject* const key : {keys.path_info, keys.request_uri, keys.remote_addr, keys.remote_port}) {
    ok = ok && set(dict.get(), key, empty);
  }
  ok = ok && set(dict.get(), keys.request_method, get.get());
  // A copied dict has the room of its original, so the fields of most requests make no copy grow: 21 keys would fill
  // the smaller table to the brim, one more makes it the next size, and leaves.
  ok = ok && set(dict.get(), keys.http_host, empty) && PyDict_DelItem(dict.get(), keys.http_host) == 0;
  if (!ok) return {};
  return dict;
}

PyObject* EnvironBuilder::template_for(const handler::ListenerInfo* listener) {
  for (const Template& each : templates_) {
    if (each.listener == listener) return each.dict.get();
  }
  PyRef made = make_template(listener);
  if (!made) return nullptr;
  templates_.push_back({listener, std::move(made)});
  return templates_.back().dict.get();
}

std::string_view EnvironBuilder::decoded(std::string_view path) {
  if (path.find('%') == std::string_view::npos) return path;
  http::percent_decode(path, scratch_);
  return scratch_;
}

bool EnvironBuilder::add_path(PyObject* environ, const handler::Exchange& exchange) {
  const Interpreter::Keys& keys = interpreter_.keys();
  std::string_view path = exchange.request.path;
  // "*" names the server, not a resource (RFC 9112 3.2.4): no path that an application could route.
  if (path == "*") return true;
  if (exchange.mount_length != 0) {
    const std::string_view mount = path.substr(0, exchange.mount_length);
    if (!set(environ, keys.script_name, text(last_mount_, decoded(mount)))) return false;
    path.remove_prefix(mount.size());
  }
  return set(environ, keys.path_info, text(last_path_, decoded(path)));
}

bool EnvironBuilder::add_request_line(PyObject* environ, const handler::Exchange& exchange) {
  const Interpreter::Keys& keys = interpreter_.keys();
  const http::RequestHead& request = exchange.request;
  if (request.method != "GET" && !set(environ, keys.request_method, text(last_method_, request.method))) return false;
  if (!add_path(environ, exchange)) return false;
  if (!set(environ, keys.request_uri, text(last_target_, request.target))) return false;
  if (!request.query.empty() && !set(environ, keys.query_string, latin1_text(request.query).get())) return false;
  if (request.version == http::Version::Http10) {
    if (!http10_) http10_ = latin1_text("HTTP/1.0");
    if (!set(environ, keys.server_protocol, http10_.get())) return false;
  }
  if (request.body == http::BodyKind::None) return true;
  // The whole body is here, also one that came chunked.
  return set(environ, keys.content_length, decimal_text(exchange.body.size()).get());
}

bool EnvironBuilder::add_peer(PyObject* environ, const handler::Exchange& exchange) {
  const handler::PeerAddress& peer = exchange.peer;
  if (!last_address_ || last_peer_.family != peer.family || last_peer_.bytes != peer.bytes) {
    last_address_ = address_text(peer);
    last_peer_ = peer;
  }
  if (!set(environ, interpreter_.keys().remote_addr, last_address_.get())) return false;
  if (peer.family == handler::PeerAddress::Family::None) return true;
  PortText& port = ports_[peer.port % ports_.size()];
  if (!port.text || port.port != peer.port) {
    port.text = decimal_text(peer.port);
    port.port = peer.port;
  }
  return set(environ, interpreter_.keys().remote_port, port.text.get());
}

bool EnvironBuilder::append(PyObject* environ, PyObject* key, std::string_view separator, std::string_view value) {
  PyObject* const before = PyDict_GetItemWithError(environ, key);
  if (before == nullptr) return false;
  const PyRef joint = latin1_text(separator);
  const PyRef more = latin1_text(value);
  if (!joint || !more) return false;
  const PyRef start(PyUnicode_Concat(before, joint.get()));
  if (!start) return false;
  const PyRef whole(PyUnicode_Concat(start.get(), more.get()));
  return set(environ, key, whole.get());
}

bool EnvironBuilder::add_known(PyObject* environ, std::size_t index, std::string_view value) {
  PyObject* const key = interpreter_.keys().fields[index];
  if (kKnownFields[index].keep_value) return set(environ, key, text(last_values_[index], value));
  return set(environ, key, latin1_text(value).get());
}

bool EnvironBuilder::add_unknown(PyObject* environ, std::string_view name, std::string_view value) {
  // "X_Forwarded_For" would arrive under the key of "X-Forwarded-For", which a proxy in front may have vouched for.
  if (name.find('_') != std::string_view::npos) return true;
  scratch_.assign("HTTP_");
  for (const char c : name) {
    scratch_.push_back(c == '-' ? '_' : (c >= 'a' && c <= 'z') ? static_cast<char>(c - ('a' - 'A')) : c);
  }
  // Never interned: a client would choose what the process keeps for ever.
  const PyRef key = latin1_text(scratch_);
  if (!key) return false;
  if (PyDict_GetItemWithError(environ, key.get()) != nullptr) return append(environ, key.get(), ",", value);
  return PyErr_Occurred() == nullptr && set(environ, key.get(), latin1_text(value).get());
}

bool EnvironBuilder::add_fields(PyObject* environ, const handler::Exchange& exchange) {
  const http::RequestHead& request = exchange.request;
  static const std::size_t host = static_cast<std::size_t>(known_field("host"));
  static const std::size_t cookie = static_cast<std::size_t>(known_field("cookie"));
  std::uint64_t seen = 0;
  if (request.form == http::TargetForm::Absolute) {
    // The target's authority replaces what Host says (RFC 9112 3.2.2).
    if (!add_known(environ, host, request.authority)) return false;
    seen = std::uint64_t{1} << host;
  }
  for (const http::Field& field : request.fields) {
    const int known = known_field(field.name);
    if (known == kUnknownField) {
      if (!add_unknown(environ, field.name, field.value)) return false;
      continue;
    }
    const auto index = static_cast<std::size_t>(known);
    PyObject* const key = interpreter_.keys().fields[index];
    if (key == nullptr) continue;
    const std::uint64_t bit = std::uint64_t{1} << index;
    if ((seen & bit) == 0) {
      seen |= bit;
      if (!add_known(environ, index, field.value)) return false;
    } else if (index != host) {
      // RFC 9110 5.3; RFC 6265 5.4 for what a client should have sent as one Cookie field.
      if (!append(environ, key, index == cookie ? "; " : ",", field.value)) return false;
    }
  }
  return true;
}

PyRef EnvironBuilder::build(const handler::Exchange& exchange) noexcept {
  try {
    PyObject* const prepared = template_for(exchange.listener);
    PyRef environ(prepared == nullptr ? nullptr : PyDict_Copy(prepared));
    if (environ && add_request_line(environ.get(), exchange) && add_peer(environ.get(), exchange) &&
        add_fields(environ.get(), exchange)) {
      return environ;
    }
  } catch (...) {
    PyErr_NoMemory();
  }
  return {};
}

}  // namespace m0::python
