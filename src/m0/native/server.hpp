#pragma once
// The whole of a C++ program's main: what is mounted where, the command line, run().

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "m0/handler/loop_handler.hpp"
#include "m0/handler/pool_handler.hpp"
#include "m0/native/mounted_handler.hpp"

namespace m0::native {

/// A handler that may block, on threads of the pool: `m0::pooled<Reports>{.threads = 2}`. Without a wish it shares the
/// server's own threads (--blocking-threads) with every other mount that has none.
template <handler::PoolHandler H>
struct pooled {
  unsigned threads = 0;
  unsigned max_threads = 0;
  std::size_t queue = 0;
  base::Duration queue_timeout = base::Duration::zero();

  [[nodiscard]] MountedHandler mounted() const {
    MountedHandler result;
    result.make_for_thread = [](const pool::ThreadContext& context) -> std::unique_ptr<AnyHandler> {
      return std::make_unique<HandlerOf<H>>(H::make(context));
    };
    result.lane = {threads, max_threads, queue, queue_timeout};
    return result;
  }
};

/// A handler that promises not to block, on the loop: `m0::looped<Ping>{}`.
template <handler::LoopHandler H>
struct looped {
  [[nodiscard]] MountedHandler mounted() const {
    MountedHandler result;
    result.make_for_loop = [](const handler::LoopContext& context) -> std::unique_ptr<AnyHandler> {
      return std::make_unique<HandlerOf<H>>(H::make(context));
    };
    return result;
  }
};

/// The main thread.
class Server {
 public:
  /// The words of main(), with the flags that `--help` lists.
  Server(int argc, char** argv);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();

  /// Answers what lies under `prefix` ("/" for everything else) with a handler. The longest prefix that ends with a
  /// segment of the path wins. A prefix that cannot be, or that comes twice, is told by run().
  template <class Mount>
  Server& mount(std::string_view prefix, const Mount& what) {
    add(prefix, what.mounted());
    return *this;
  }

  /// Serves until a signal; gives the exit code of the program: 0 after a stop, 1 when a handler could not be made or
  /// kept running, 2 for a wrong flag, 78 where the configuration cannot work here.
  [[nodiscard]] int run();

 private:
  void add(std::string_view prefix, MountedHandler handler);

  struct State;
  std::unique_ptr<State> state_;
};

/// A program with one handler for everything.
template <class H>
[[nodiscard]] int serve(int argc, char** argv) {
  Server server(argc, argv);
  if constexpr (handler::PoolHandler<H>) {
    server.mount("/", pooled<H>{});
  } else {
    static_assert(handler::LoopHandler<H>, "a handler is a PoolHandler or a LoopHandler: see m0/handler");
    server.mount("/", looped<H>{});
  }
  return server.run();
}

}  // namespace m0::native
