#pragma once
// One worker's main thread: load the application, serve until told to stop, leave.

#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "m0/base/clock.hpp"
#include "m0/handler/application.hpp"
#include "m0/net/listener.hpp"
#include "m0/process/config.hpp"
#include "m0/process/control_server.hpp"
#include "m0/process/slots.hpp"

namespace m0::process {

/// What the log's writer is given for its last lines when their reader is slow.
inline constexpr base::Duration kLastLines = std::chrono::seconds(1);

/// The application as it is to be loaded. kExitClean, or the code to leave with: the log says why. `refused`, where it
/// is given, is told the sentence of a configuration that cannot work here instead of the log.
[[nodiscard]] int load_application(handler::Application& application,
                                   const std::function<void(const std::string&)>& refused = {});

struct WorkerPlace {
  unsigned index = 0;
  Slots* slots = nullptr;
  pubsub::EventLog* log = nullptr;
  bool loaded = false;                                   // --preload: the application is there already
  bool own_signals = false;                              // --no-fork: SIGINT is ours too
  ControlServer* control = nullptr;                      // --no-fork: to be served here
  std::function<void()> became_ready;                    // on the main thread, once
  std::function<void(const std::string&)> refused = {};  // see load_application
};

/// Returns the exit code once loop and pool are gone and the application's exit functions ran. The caller leaves the
/// process by _exit: threads that are stuck in a handler must not run into a finalised interpreter.
[[nodiscard]] int run_worker(const Config& config, handler::Application& application,
                             std::span<net::Listener* const> listeners, const WorkerPlace& place);

}  // namespace m0::process
