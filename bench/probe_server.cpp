// The native server that the pool probe asks: /fast answers at once, /slow blocks in a system call for 400 ms. It
// sleeps and does not spin: the pool is for handlers that block.
//
// PROBE_HANDLER=loop runs both on the loop, which breaks the promise of a LoopHandler on purpose: that is what the pool
// is compared with. PROBE_HANDLER=pool runs them on the pool's threads. The flags are those of every m0::Server.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "m0/m0.hpp"

namespace {

// The D of bench/m0bench/probe_cells.py, and what `time.sleep` takes in bench/apps/bench_app.py.
constexpr auto kBlock = std::chrono::milliseconds(400);

m0::Response answer(const m0::Request& request) {
  if (request.path() == "/slow") std::this_thread::sleep_for(kBlock);
  return m0::Response::text("Hello, world!");
}

struct OnLoop {
  static OnLoop make(const m0::LoopContext&) { return {}; }
  m0::Response handle(const m0::Request& request) { return answer(request); }
};

struct OnPool {
  static OnPool make(const m0::ThreadContext&) { return {}; }
  m0::Response handle(const m0::Request& request) { return answer(request); }
  void shutdown() {}
};

}  // namespace

int main(int argc, char** argv) {
  const char* const given = std::getenv("PROBE_HANDLER");
  const std::string_view kind = given == nullptr ? "" : given;
  if (kind == "loop") return m0::serve<OnLoop>(argc, argv);
  if (kind == "pool") return m0::serve<OnPool>(argc, argv);
  std::fputs("probe_server: PROBE_HANDLER is loop or pool\n", stderr);
  return 2;
}
