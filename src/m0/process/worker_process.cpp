#include "m0/process/worker_process.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>

#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/base/parker.hpp"
#include "m0/process/exit_codes.hpp"
#include "m0/process/signals.hpp"
#include "m0/server/worker.hpp"

namespace m0::process {
namespace {

// The application's exit functions have at least this long, also when the graceful time is used up.
constexpr base::Duration kLeastForUnload = std::chrono::seconds(1);

/// Ends the process when the application's exit functions do not.
class Watchdog {
 public:
  explicit Watchdog(base::Instant deadline)
      : thread_([this, deadline] {
          if (done_.wait_until(deadline)) return;
          base::log::warning("the application's exit functions did not end within the graceful time; ended");
          base::log::stop_writer(kLastLines);
          ::_exit(kExitClean);
        }) {}
  ~Watchdog() {
    done_.wake();
    thread_.join();
  }

 private:
  base::Parker done_;
  std::thread thread_;
};

/// Stop signals; in a worker of a supervisor SIGINT is the supervisor's (a terminal sends it to all of us at once).
std::array<int, 2> stop_signals() { return {SIGTERM, SIGINT}; }

}  // namespace

int load_application(handler::Application& application, const std::function<void(const std::string&)>& refused) {
  try {
    application.load();
    return kExitClean;
  } catch (const handler::ConfigurationError& failure) {
    if (refused) {
      refused(failure.what());
    } else {
      base::log::error("{}", failure.what());
    }
    return kExitConfig;
  } catch (const handler::LoadError& failure) {
    base::log::error("{}", failure.what());
    return kExitFailed;
  }
}

int run_worker(const Config& config, handler::Application& application, std::span<net::Listener* const> listeners,
               const WorkerPlace& place) {
  base::metric::use_slab((*place.slots)[place.index].metrics);
  if (!place.loaded) {
    if (const int code = load_application(application, place.refused); code != kExitClean) return code;
  }

  // Only now: until here a signal ended the process at once, and nobody was being served.
  Signals signals(stop_signals());
  // Its destructor waits for every pool thread; one that is stuck in a handler would keep the process for ever, so then
  // it is left to _exit.
  auto owned = std::make_unique<server::Worker>(config.server, application, listeners,
                                                server::Worker::Place{place.index, place.slots->loads()},
                                                [&signals] { signals.poke(); });
  server::Worker& worker = *owned;
  worker.start();

  unsigned stops = 0;
  bool announced = false;
  base::Instant deadline = base::Instant::max();
  for (;;) {
    const server::Worker::State state = worker.state();
    if (state == server::Worker::State::Ended) break;
    if (state == server::Worker::State::Ready && !announced) {
      announced = true;
      (*place.slots)[place.index].state.store(WorkerState::Ready, std::memory_order_release);
      if (place.became_ready) place.became_ready();
    }
    application.wait(signals.fd());
    signals.drain();
    unsigned came = signals.take(SIGTERM);
    const unsigned interrupts = signals.take(SIGINT);
    if (place.own_signals) came += interrupts;
    for (; came > 0; --came) {
      if (++stops == 1) {
        (*place.slots)[place.index].state.store(WorkerState::Stopping, std::memory_order_release);
        deadline = base::now() + config.server.timeouts.graceful;
        worker.stop();
      } else {
        worker.abort();
      }
    }
  }
  const bool all_left = worker.join();
  const bool failed = !worker.failure().empty();
  if (failed) base::log::error("{}", worker.failure());

  {
    const base::Instant least = base::now() + kLeastForUnload;
    const Watchdog watchdog(deadline == base::Instant::max() || deadline < least || stops > 1 ? least : deadline);
    application.unload();
  }
  if (base::log::enabled(base::LogLevel::Debug)) {
    for (const std::string& line : base::metric::nonzero_lines(base::metric::slab())) {
      base::log::debug("counter {}", line);
    }
  }
  if (!all_left) static_cast<void>(owned.release());
  return failed ? kExitFailed : kExitClean;
}

}  // namespace m0::process
