// A native program for the black-box tests: every answer says which thread made it (X-Thread).

#include <arpa/inet.h>
#include <m0/m0.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

unsigned number(const m0::Request& request, std::string_view name, unsigned otherwise) {
  const auto text = request.query_value(name);
  return text ? static_cast<unsigned>(std::stoul(*text)) : otherwise;
}

/// Knocks at a socket of the test, and waits until the test lets it go (tests/harness/gate.py).
void wait_at_gate(unsigned port, const std::string& tag, const std::string& thread) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string line = "{\"tag\":\"" + tag + "\",\"thread\":\"" + thread + "\"}\n";
  char byte = 0;
  const bool through = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
                       ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                       ::read(fd, &byte, 1) == 1;
  ::close(fd);
  if (!through) throw std::runtime_error("the gate did not open");
}

m0::Response published(const m0::Request& request) {
  const std::string channel = request.query_value("channel").value();
  const std::string data = request.query_value("data").value();
  const auto id = m0::publish({.channel = channel, .data = data});
  return m0::Response::text(id ? m0::to_text(*id) : std::string("!") + std::string(describe(id.error())));
}

/// A WebSocket that says what it was told, and what it is called; what else it does its messages say.
m0::Response talk(const m0::Request& request) {
  if (request.method() == "GET") return m0::Response::hold_websocket({"talk"}, request.connection());
  const std::string said = request.whole_body();
  if (said == "close") {
    static_cast<void>(m0::close_connection(request.connection(), {.code = 4000, .reason = "as told"}));
    return m0::Response::with_status(204);
  }
  if (said == "send") {
    static_cast<void>(m0::send(request.connection(), "sent", false));
    return m0::Response::with_status(204);
  }
  if (said == "who") {
    const auto found = m0::presence("talk");
    return m0::Response::text(found ? std::to_string(found->count) : std::string(describe(found.error())));
  }
  return m0::Response::text("you said " + said);
}

class Site {
 public:
  static Site make(const m0::ThreadContext& thread) {
    if (std::getenv("M0TEST_FAIL_MAKE") != nullptr) throw std::runtime_error("the test's handler cannot be made");
    return Site(thread);
  }
  m0::Response handle(const m0::Request& request) {
    m0::Response response = kRoutes.answer(*this, request);
    return std::move(response.set("X-Thread", thread_).set("X-Worker", std::to_string(worker_)));
  }
  void shutdown() {
    if (std::getenv("M0TEST_TELL_SHUTDOWN") != nullptr) {
      const std::string line = "shutdown of " + thread_ + "\n";
      if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::abort();
    }
  }

 private:
  explicit Site(const m0::ThreadContext& thread)
      : thread_(std::string(thread.lane) + "#" + std::to_string(thread.thread)), worker_(thread.worker) {}

  m0::Response hello(const m0::Request&) { return m0::Response::text("hello\n"); }
  m0::Response gate(const m0::Request& request) {
    wait_at_gate(number(request, "port", 0), request.query_value("tag").value_or(""), thread_);
    return m0::Response::text("through\n");
  }
  m0::Response item(const m0::Request& request) { return m0::Response::text(std::string(request.param("id"))); }
  m0::Response echo(const m0::Request& request) {
    return m0::Response::bytes("application/octet-stream", request.whole_body());
  }
  m0::Response fail(const m0::Request& request) {
    if (request.query_value("what") == "int") throw 7;
    throw std::runtime_error("as the test wants");
  }
  m0::Response file(const m0::Request& request) { return m0::Response::file(request.query_value("path").value()); }
  m0::Response where(const m0::Request& request) {
    return m0::Response::text(std::string(request.mount()) + " " + std::string(request.path()) + " " +
                              std::to_string(::getpid()) + "\n");
  }
  m0::Response hold(const m0::Request&) { return m0::Response::hold({"news", "a, b"}, ": from a pool thread\n\n"); }
  m0::Response publish(const m0::Request& request) { return ::published(request); }
  m0::Response talk(const m0::Request& request) { return ::talk(request); }
  m0::Response stream(const m0::Request&) {
    return m0::Response::stream("text/plain", [](std::string& out) {
      out = "never";
      return m0::Produced::Last;
    });
  }

  static const m0::Router<Site> kRoutes;
  std::string thread_;
  unsigned worker_;
};

const m0::Router<Site> Site::kRoutes = m0::Router<Site>()
                                           .get("/hello", &Site::hello)
                                           .get("/gate", &Site::gate)
                                           .get("/items/:id", &Site::item)
                                           .del("/items/:id", &Site::item)
                                           .post("/echo", &Site::echo)
                                           .get("/fail", &Site::fail)
                                           .get("/file", &Site::file)
                                           .get("/where/*rest", &Site::where)
                                           .get("/hold", &Site::hold)
                                           .get("/publish", &Site::publish)
                                           .get("/talk", &Site::talk)
                                           .post("/talk", &Site::talk)
                                           .get("/stream", &Site::stream);

class OnLoop {
 public:
  static OnLoop make(const m0::LoopContext&) {
    if (std::getenv("M0TEST_FAIL_LOOP") != nullptr) throw std::runtime_error("the test's loop handler cannot be made");
    return {};
  }
  m0::Response handle(const m0::Request& request) {
    if (request.path() == "/fail") throw std::runtime_error("as the test wants, on the loop");
    if (request.path() == "/hold") return m0::Response::hold({"news"}, ": from the loop\n\n");
    if (request.path() == "/publish") return published(request);
    if (request.path() == "/talk") return talk(request);
    if (request.path() != "/stream") return m0::Response::text("loop\n");
    return m0::Response::stream("text/plain", [left = number(request, "pieces", 3), size = number(request, "size", 10),
                                               fail_at = number(request, "fail", 0)](std::string& out) mutable {
      if (left == fail_at) throw std::runtime_error("the producer's own");
      out.assign(size, static_cast<char>('a' + left % 26));
      return --left == 0 ? m0::Produced::Last : m0::Produced::More;
    });
  }
};

}  // namespace

int main(int argc, char** argv) {
  m0::Server server(argc, argv);
  server.mount("/", m0::pooled<Site>{});
  server.mount("/lane", m0::pooled<Site>{.threads = 1, .queue = 1});
  server.mount("/loop", m0::looped<OnLoop>{});
  return server.run();
}
