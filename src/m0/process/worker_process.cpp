#include "m0/process/worker_process.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <thread>

#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/base/parker.hpp"
#include "m0/process/event_log_thread.hpp"
#include "m0/process/exit_codes.hpp"
#include "m0/process/signals.hpp"
#include "m0/process/stop_requests.hpp"
#include "m0/pubsub/publisher.hpp"
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

/// An application that has its own use for SIGHUP keeps it.
void survive_hangup() {
  struct sigaction now{};
  if (::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) ::signal(SIGHUP, [](int) {});
}

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
  pubsub::use_log(place.log);  // the application may publish while it is imported
  std::optional<EventLogThread> event_log;
  if (!config.event_log.empty()) event_log.emplace(config.event_log, *place.log);
  if (!place.loaded) {
    if (const int code = load_application(application, place.refused); code != kExitClean) return code;
  }

  // Only now: until here a signal ended the process at once, and nobody was being served.
  Signals signals(stop_signals());
  ControlServer* const control = place.control;
  if (control != nullptr) control->watch(signals.fd());
  // A terminal that is closed signals everybody who runs in it; what that means is the supervisor's to say. Not
  // ignored: programs that the application starts would inherit that.
  if (!place.own_signals) survive_hangup();
  // Its destructor waits for every pool thread; one that is stuck in a handler would keep the process for ever, so then
  // it is left to _exit.
  auto owned = std::make_unique<server::Worker>(config.server, application, listeners,
                                                server::Worker::Place{place.index, place.slots->loads(), place.log},
                                                [&signals] { signals.poke(); });
  server::Worker& worker = *owned;
  worker.start();

  Slot& slot = (*place.slots)[place.index];
  StopRequests own_stops;
  bool stopping = false;
  bool at_once = false;
  bool announced = false;
  base::Instant deadline = base::Instant::max();
  for (;;) {
    const server::Worker::State state = worker.state();
    if (state == server::Worker::State::Ended) break;
    if (state == server::Worker::State::Ready && !announced) {
      announced = true;
      slot.state.store(WorkerState::Ready, std::memory_order_release);
      if (place.became_ready) place.became_ready();
    }
    application.wait(control != nullptr ? control->fd() : signals.fd());
    if (control != nullptr) control->turn(base::now());
    signals.drain();
    const unsigned terms = signals.take(SIGTERM);
    const unsigned interrupts = signals.take(SIGINT);
    StopRequests::Wish wish = StopRequests::Wish::Nothing;
    if (place.own_signals) {
      wish = own_stops.signals_came(terms + interrupts, base::now());
    } else if (terms > 0) {
      wish =
          slot.end_at_once.load(std::memory_order_acquire) ? StopRequests::Wish::AtOnce : StopRequests::Wish::Graceful;
    }
    if (wish != StopRequests::Wish::Nothing && !stopping) {
      stopping = true;
      if (place.own_signals) base::log::info("stopping");
      // One that never served is not told apart from one that failed to start.
      if (announced) slot.state.store(WorkerState::Stopping, std::memory_order_release);
      deadline = base::now() + config.server.timeouts.graceful;
      worker.stop();
      if (control != nullptr) control->stop_listening();
    }
    if (wish == StopRequests::Wish::AtOnce && !at_once) {
      at_once = true;
      if (place.own_signals) base::log::info("stopping at once");
      worker.abort();
    }
  }
  const bool all_left = worker.join();
  const bool failed = !worker.failure().empty();
  if (failed) base::log::error("{}", worker.failure());

  {
    const base::Instant least = base::now() + kLeastForUnload;
    const Watchdog watchdog(deadline == base::Instant::max() || deadline < least || at_once ? least : deadline);
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
