#pragma once
// Keeps the workers: starts them, replaces those that die, passes a stop on, and gives the exit code.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "m0/base/clock.hpp"
#include "m0/handler/application.hpp"
#include "m0/net/listener.hpp"
#include "m0/process/config.hpp"
#include "m0/process/control_server.hpp"
#include "m0/process/control_socket.hpp"
#include "m0/process/signals.hpp"
#include "m0/process/slots.hpp"
#include "m0/process/stop_requests.hpp"
#include "m0/pubsub/event_log.hpp"
#include "m0/pubsub/event_log_file.hpp"

namespace m0::process {

/// Forks with whatever the door needs around it (an interpreter's hooks); -1 with errno, 0 in the child.
using ForkHook = std::function<pid_t()>;

/// Single-threaded: everything on the main thread.
class Supervisor {
 public:
  Supervisor(const Config& config, handler::Application& application, ForkHook fork,
             std::span<net::Listener* const> listeners, std::optional<ControlSocket> control, std::string ready_line);
  /// Before run(). Empty, or the sentence of a file that cannot be used.
  [[nodiscard]] std::string open_event_log();

  /// Until every worker has gone. Never returns in a worker.
  [[nodiscard]] int run();

 private:
  struct Child {
    pid_t pid = 0;  // 0: none
    base::Instant started{};
    base::Instant start_at = base::Instant::max();  // when another is to be started
    bool was_ready = false;
  };

  void start_worker(unsigned index);
  [[noreturn]] void be_worker(unsigned index);
  void reap();
  void worker_ended(unsigned index, int status);
  void report_end(unsigned index, pid_t pid, int status);
  /// The server ends with this code once its workers have gone.
  void give_up(int code);
  /// Listeners close, workers finish within the graceful time.
  void end_workers();
  void look_for_ready();
  void on_stop(StopRequests::Wish wish);
  void signal_all(int number) noexcept;
  [[nodiscard]] unsigned alive() const noexcept;
  /// The next time something is due, and doing what is.
  base::Instant tend(base::Instant now);
  void wait(base::Instant until);

  const Config& config_;
  handler::Application& application_;
  const ForkHook fork_;
  const std::span<net::Listener* const> listeners_;
  const std::string ready_line_;
  Slots slots_;
  pubsub::EventLog log_;
  std::optional<pubsub::EventLogFile> log_file_;  // none: the log ends with the server
  Signals signals_;
  std::unique_ptr<ControlServer> control_;  // null: it is off
  const pid_t own_pid_;
  std::vector<Child> children_;
  int exit_code_ = 0;
  StopRequests stop_;
  unsigned boot_failures_ = 0;  // in a row
  bool killing_ = false;        // what did not end in time
  bool announced_ = false;
  base::Instant kill_at_ = base::Instant::max();
};

}  // namespace m0::process
