#pragma once
// A handler of any type behind one interface: what a mount makes for each thread that answers under it.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "m0/base/clock.hpp"
#include "m0/handler/loop_handler.hpp"
#include "m0/handler/pool_handler.hpp"

namespace m0::native {

/// One handler of one thread. That thread only.
class AnyHandler {
 public:
  virtual ~AnyHandler() = default;
  [[nodiscard]] virtual handler::Response handle(const handler::Request& request) = 0;
  virtual void shutdown() = 0;
};

template <class H>
class HandlerOf final : public AnyHandler {
 public:
  explicit HandlerOf(H handler) : handler_(std::move(handler)) {}
  handler::Response handle(const handler::Request& request) override { return handler_.handle(request); }
  void shutdown() override {
    if constexpr (handler::PoolHandler<H>) handler_.shutdown();
  }

 private:
  H handler_;
};

/// The threads that a mount asks for. All zero: it shares the server's own.
struct LaneWish {
  unsigned threads = 0;                                   // exactly so many, unless max_threads allows more
  unsigned max_threads = 0;                               // grows to this while every thread is blocked
  std::size_t queue = 0;                                  // requests that may wait; one more is a 503
  base::Duration queue_timeout = base::Duration::zero();  // one that waits longer is a 503

  [[nodiscard]] bool none() const noexcept {
    return threads == 0 && max_threads == 0 && queue == 0 && queue_timeout == base::Duration::zero();
  }
};

/// What stands at a prefix: exactly one of the two makers.
struct MountedHandler {
  std::function<std::unique_ptr<AnyHandler>(const pool::ThreadContext&)> make_for_thread;
  std::function<std::unique_ptr<AnyHandler>(const handler::LoopContext&)> make_for_loop;
  LaneWish lane;
};

}  // namespace m0::native
