#include "m0/process/run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "m0/base/fd_registry.hpp"
#include "m0/base/logger.hpp"
#include "m0/net/bind_address.hpp"
#include "m0/net/listener.hpp"
#include "m0/net/socket.hpp"
#include "m0/process/control_server.hpp"
#include "m0/process/control_socket.hpp"
#include "m0/process/event_log_thread.hpp"
#include "m0/process/exit_codes.hpp"
#include "m0/process/slots.hpp"
#include "m0/process/worker_process.hpp"
#include "m0/pubsub/event_log.hpp"
#include "m0/pubsub/event_log_file.hpp"
#include "m0/server/mount_table.hpp"

namespace m0::process {
namespace {

int refuse(const std::string& sentence) {
  base::log::write(base::LogLevel::Error, sentence);
  return kExitConfig;
}

std::string threads_of(const pool::LaneConfig& lane) {
  if (lane.threads != lane.max_threads) return fmt::format("{} to {} threads", lane.threads, lane.max_threads);
  return fmt::format("{} {}", lane.threads, lane.threads == 1 ? "thread" : "threads");
}

std::string ready_line(const Config& config, const handler::Application& application,
                       std::span<net::Listener* const> listeners) {
  std::string addresses;
  for (const net::Listener* listener : listeners) {
    if (!addresses.empty()) addresses += ", ";
    addresses += listener->url();
  }
  std::string threads;
  const server::MountTable table(config.server);
  for (const pool::LaneConfig& lane : table.lanes()) {
    if (!threads.empty()) threads += ", ";
    if (lane.name != config.server.lane.name) threads += fmt::format("lane {} ", lane.name);
    threads += threads_of(lane);
    if (config.workers > 1) threads += " each";
  }
  if (threads.empty()) threads = "no threads: all is answered on the loop";
  return fmt::format("ready on {} ({}, {} {}, {})", addresses, application.description(), config.workers,
                     config.workers == 1 ? "worker" : "workers", threads);
}

int run_here(const Config& config, handler::Application& application, std::span<net::Listener* const> listeners,
             std::optional<ControlSocket> control) {
  Slots slots(1);
  pubsub::EventLog log(log_config(config));
  std::optional<pubsub::EventLogFile> log_file;
  if (!config.event_log.empty()) {
    auto opened = pubsub::EventLogFile::open(config.event_log, log, kForPredecessors);
    if (!opened) return refuse(opened.error());
    log_file.emplace(std::move(*opened));
  }
  WorkerPlace place;
  place.slots = &slots;
  place.log = &log;
  place.own_signals = true;
  std::unique_ptr<ControlServer> control_server;
  if (control) control_server = std::make_unique<ControlServer>(std::move(*control), log);
  place.control = control_server.get();
  place.became_ready = [&] { base::log::write(base::LogLevel::Info, ready_line(config, application, listeners)); };
  application.set_surroundings({false, multithread(config), 0});
  base::log::start_writer();
  if (log_file) report_restored(*log_file);
  const int code = run_worker(config, application, listeners, place);
  if (log_file) {
    if (const auto done = log_file->finish(log, std::chrono::seconds(5)); !done) base::log::error("{}", done.error());
  }
  base::log::stop_writer(kLastLines);
  return code;
}

int run_with_listeners(const Config& config, handler::Application& application, const ForkHook& fork,
                       std::span<net::Listener* const> listeners, std::optional<ControlSocket> control) {
  if (!config.fork) return run_here(config, application, listeners, std::move(control));
  if (config.preload) {
    application.set_surroundings({config.workers > 1, multithread(config), 0});
    if (const int code = load_application(application); code != kExitClean) return code;
  }
  Supervisor supervisor(config, application, fork, listeners, std::move(control),
                        ready_line(config, application, listeners));
  if (const std::string problem = supervisor.open_event_log(); !problem.empty()) return refuse(problem);
  return supervisor.run();
}

/// Where 0, 1 or 2 are closed, the next descriptor to be opened would take that number, and whatever anybody prints
/// would go there: into a listener, or between the lines of the access log.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one: those below are open by now.
    if (::open("/dev/null", O_RDWR) != fd) return;  // inherited by what the application starts, so not O_CLOEXEC
  }
}

}  // namespace

int run(const Config& config, handler::Application& application, const ForkHook& fork) {
  open_standard_descriptors();
  base::log::set_level(config.log_level);
  base::fd_registry::install_fork_hooks();
  // A client that goes away while it is written to is an error of the write, not a signal. Threads that the application
  // starts inherit the disposition of the process: Python ignores SIGPIPE by itself.
  ::signal(SIGPIPE, SIG_IGN);

  if (!config.fork && config.workers > 1) {
    return refuse("--no-fork keeps everything in one process; leave it out, or set --workers to 1");
  }
  std::vector<net::BindAddress> addresses;
  for (const std::string& bind : config.binds) {
    auto address = net::parse_bind_address(bind);
    if (!address) return refuse(address.error());
    addresses.push_back(std::move(*address));
  }
  try {
    base::log::open_access(config.server.access_log);
  } catch (const std::exception& failure) {
    return refuse(
        fmt::format("the access log cannot be opened ({}); give --access-log a writable path", failure.what()));
  }
  auto opened = net::open_listeners(addresses, {.backlog = config.backlog, .unix_mode = config.unix_mode});
  if (!opened) return refuse(opened.error());
  std::vector<net::Listener*> listeners;
  for (net::Listener& listener : *opened) listeners.push_back(&listener);

  const std::uint64_t descriptors = net::raise_descriptor_limit();
  Config fitted = config;
  // The application may change its directory, and a link is to be written through.
  if (!fitted.event_log.empty()) {
    std::error_code none;
    const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(fitted.event_log, none), none);
    if (!none && whole.is_absolute()) fitted.event_log = whole.string();
  }
  // Beside the clients: files of the application, bodies, the log.
  constexpr std::uint64_t kSpare = 1024 + 256;
  if (fitted.server.max_connections + kSpare > descriptors) {
    const std::size_t possible = descriptors > 2 * kSpare ? static_cast<std::size_t>(descriptors - kSpare)
                                                          : static_cast<std::size_t>(descriptors / 2);
    if (possible < fitted.server.max_connections) {
      base::log::warning(
          "the limit of {} descriptors allows {} connections instead of {}; raise it (ulimit -n, LimitNOFILE=)",
          descriptors, possible, fitted.server.max_connections);
      fitted.server.max_connections = possible;
    }
  }
  auto control = open_control(fitted, listeners.front()->address());
  if (!control) return refuse(control.error());
  tell_children(*control);
  try {
    return run_with_listeners(fitted, application, fork, listeners, std::move(*control));
  } catch (const std::system_error& failure) {
    return refuse(fmt::format("the server cannot run here: {}", failure.what()));
  }
}

}  // namespace m0::process
