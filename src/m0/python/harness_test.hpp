#pragma once
// Runs Python sources as applications on exchanges, without a server.

#include <Python.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "m0/handler/exchange.hpp"
#include "m0/python/interpreter.hpp"
#include "m0/python/wsgi_call.hpp"

namespace m0::python::testing {

/// The process's one interpreter with the multithread, multiprocess answers of a single worker.
const Interpreter& interpreter();

/// A module made from source text; its names. It may call leave(): the client of the request that runs goes away.
class Script {
 public:
  explicit Script(std::string_view source);
  /// A new reference; fails the test when there is no such name.
  [[nodiscard]] PyRef get(const char* name) const;
  /// str() of an expression evaluated in it.
  [[nodiscard]] std::string eval(const std::string& expression) const;

 private:
  PyRef names_;
};

/// What a client asks.
struct Ask {
  std::string method = "GET";
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> fields = {{"Host", "example.org"}};
  std::string body = {};
  http::Version version = http::Version::Http11;
  http::TargetForm form = http::TargetForm::Origin;
  std::string authority = {};
  bool chunked = false;
  std::uint32_t mount_length = 0;
  std::uint16_t target_number = 0;  // which application
};

/// What the loop would see.
struct Seen {
  int status = 0;
  std::string reason;
  std::vector<std::pair<std::string, std::string>> fields;
  handler::ResponseBody::Kind kind{};
  std::string body;  // whole, foreign, of a file, or what came through the window
  http::BodyLength declared;
  bool aborted = false;
  unsigned notices = 0;
  [[nodiscard]] std::string field(std::string_view name) const;
};

/// A pool thread's caller with a loop that reads the window whenever it is told to.
class Host final : public LoopNotifier {
 public:
  explicit Host(PyRef application);
  /// Several, by target.
  explicit Host(std::vector<PyRef> applications);
  ~Host();

  Seen ask(const Ask& ask);
  /// Called inside each notice, before the window is read.
  std::function<void(handler::Exchange&)> on_notice;
  /// Called when the exchange is ready to run.
  std::function<void(handler::Exchange&)> before;
  /// Called when the application has said all, before the exchange goes.
  std::function<void(handler::Exchange&)> after;
  /// The window is not read inside notices.
  bool reads = true;
  handler::ListenerInfo listener{"127.0.0.1", "8000", false};
  handler::PeerAddress peer;

  void notify(handler::Exchange& exchange) noexcept override;

 private:
  std::vector<PyRef> kept_;
  std::vector<PyObject*> applications_;
  WsgiCaller caller_;
  std::string streamed_;
  unsigned notices_ = 0;
};

/// `source` defines `app`.
Seen ask(std::string_view source, const Ask& request = {});

}  // namespace m0::python::testing
