// A small service: reports that take their time, and a page that must not wait for them.
//
//   reports --bind 127.0.0.1:8000
//   curl -i http://127.0.0.1:8000/reports/2024        takes a while, on a thread of the lane "/reports"
//   curl -i http://127.0.0.1:8000/ping                is answered at once, on the loop
//   curl -N http://127.0.0.1:8000/ping/count          a stream that the loop makes piece by piece

#include <m0/m0.hpp>

#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

/// Blocks, as a database would. Each thread of the lane has one of its own.
class Reports {
 public:
  static Reports make(const m0::ThreadContext& thread) { return Reports(thread); }

  m0::Response handle(const m0::Request& request) {
    // Who answered, for whoever wants to see the pool at work.
    return kRoutes.answer(*this, request).set("X-Thread", name_);
  }

  void shutdown() {}

 private:
  explicit Reports(const m0::ThreadContext& thread)
      : name_(std::string(thread.lane) + "#" + std::to_string(thread.thread)) {}

  m0::Response list(const m0::Request&) { return m0::Response::json(R"(["2023","2024"])"); }

  m0::Response one(const m0::Request& request) {
    int year = 0;
    const std::string_view text = request.param("year");
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), year);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
      return m0::Response::problem(404, "A report is named by its year.");
    }
    std::this_thread::sleep_for(400ms);
    return m0::Response::json("{\"year\":" + std::to_string(year) + "}");
  }

  m0::Response save(const m0::Request& request) {
    if (request.header("Content-Type") != "application/json") return m0::Response::with_status(415);
    return m0::Response::json("{\"bytes\":" + std::to_string(request.body_size()) + "}", 201);
  }

  m0::Response fail(const m0::Request&) { throw std::runtime_error("this report cannot be made"); }

  static const m0::Router<Reports> kRoutes;
  std::string name_;
};

const m0::Router<Reports> Reports::kRoutes = m0::Router<Reports>()
                                                 .get("/", &Reports::list)
                                                 .get("/fail", &Reports::fail)
                                                 .get("/:year", &Reports::one)
                                                 .put("/:year", &Reports::save);

/// Answers from memory, so it may run on the loop.
class Ping {
 public:
  static Ping make(const m0::LoopContext&) { return {}; }

  m0::Response handle(const m0::Request& request) {
    if (request.path() != "/count") return m0::Response::text("pong\n");
    return m0::Response::stream("text/plain", [i = 0](std::string& out) mutable {
      out = std::to_string(++i) + "\n";
      return i == 1000 ? m0::Produced::Last : m0::Produced::More;
    });
  }
};

}  // namespace

int main(int argc, char** argv) {
  m0::Server server(argc, argv);
  server.mount("/reports", m0::pooled<Reports>{.threads = 2});
  server.mount("/ping", m0::looped<Ping>{});
  return server.run();
}
