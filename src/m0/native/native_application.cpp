#include "m0/native/native_application.hpp"

#include <poll.h>

#include <exception>

#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/base/processors.hpp"
#include "m0/handler/problem.hpp"

namespace m0::native {
namespace {

using handler::Exchange;
using handler::ResponseBody;

const base::metric::Counter g_failed("m0_handler_failures_total", "Requests answered 500 because a handler threw");

/// What is wrong with an answer that cannot go on the wire; null where nothing is.
const char* flaw(const handler::Response& response) noexcept {
  if (response.head.status < 200 || response.head.status > 599) return "its status is not from 200 to 599";
  switch (response.body.kind) {
    case ResponseBody::Kind::Bytes: return nullptr;
    case ResponseBody::Kind::File: return response.body.file ? nullptr : "it is a file without a descriptor";
    case ResponseBody::Kind::Stream: return response.body.producer ? nullptr : "it is a stream without a producer";
    case ResponseBody::Kind::Foreign:
    case ResponseBody::Kind::Window: break;
  }
  return "its body is of a kind that only the server makes";
}

void fail(Exchange& exchange, const char* why) {
  g_failed.add();
  base::log::error("{} {}: the handler failed: {}", exchange.request.method, exchange.request.path, why);
  handler::make_problem(500, {}, exchange.response);
}

/// One request, whatever the handler does with it.
void answer(AnyHandler& with, Exchange& exchange) noexcept {
  try {
    exchange.response = with.handle(handler::Request(exchange));
    if (const char* why = flaw(exchange.response)) fail(exchange, why);
  } catch (const std::exception& failure) {
    fail(exchange, failure.what());
  } catch (...) {
    fail(exchange, "it threw what is no std::exception");
  }
}

/// The handlers of one thread by their target; those of other lanes are null. Shut down on the same thread, the last
/// made first.
class Handlers {
 public:
  Handlers() = default;
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;
  ~Handlers() {
    for (auto each = made_.rbegin(); each != made_.rend(); ++each) {
      try {
        (*each)->shutdown();
      } catch (const std::exception& failure) {
        base::log::error("a handler's shutdown failed: {}", failure.what());
      } catch (...) {
        base::log::error("a handler's shutdown failed");
      }
    }
  }

  void add(std::size_t target, std::unique_ptr<AnyHandler> handler) {
    if (by_target_.size() <= target) by_target_.resize(target + 1, nullptr);
    by_target_[target] = handler.get();
    made_.push_back(std::move(handler));
  }
  [[nodiscard]] AnyHandler& at(std::size_t target) const noexcept { return *by_target_[target]; }

 private:
  std::vector<std::unique_ptr<AnyHandler>> made_;
  std::vector<AnyHandler*> by_target_;
};

/// The body of a pool thread. python/wsgi_thread.cpp is the same with an interpreter around it.
class NativeThread final : public handler::ThreadBody {
 public:
  NativeThread(const std::vector<MountedHandler>& handlers, const pool::ThreadContext& context,
               std::span<const std::uint16_t> targets) {
    for (const std::uint16_t target : targets) handlers_.add(target, handlers[target].make_for_thread(context));
  }

  void run(handler::JobThread& thread) noexcept override {
    while (Exchange* job = thread.take()) {
      do {
        job->began = thread.began();
        if (job->start()) answer(handlers_.at(job->target), *job);
        thread.complete(*job);
        job = thread.take_now();
      } while (job != nullptr);
    }
  }

 private:
  Handlers handlers_;
};

class NativeLoop final : public handler::LoopBody {
 public:
  NativeLoop(const std::vector<MountedHandler>& handlers, const handler::LoopContext& context) {
    for (std::size_t i = 0; i < handlers.size(); ++i) {
      if (handlers[i].make_for_loop) handlers_.add(i, handlers[i].make_for_loop(context));
    }
  }

  void answer(Exchange& exchange) noexcept override { native::answer(handlers_.at(exchange.target), exchange); }

 private:
  Handlers handlers_;
};

}  // namespace

unsigned NativeApplication::parallelism() const noexcept { return base::usable_processors(); }

std::unique_ptr<handler::ThreadBody> NativeApplication::make_thread(const pool::ThreadContext& context,
                                                                    std::span<const std::uint16_t> targets) {
  return std::make_unique<NativeThread>(handlers_, context, targets);
}

std::unique_ptr<handler::LoopBody> NativeApplication::make_loop(unsigned worker) {
  return std::make_unique<NativeLoop>(handlers_, handler::LoopContext{worker});
}

void NativeApplication::wait(int wake_fd) {
  pollfd ready{wake_fd, POLLIN, 0};
  ::poll(&ready, 1, -1);
}

}  // namespace m0::native
