#pragma once
// Serves the control socket: publishing from threads and processes that are no workers. In the supervisor, beside its
// other work, or on the main thread of --no-fork: nothing here ever waits.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "m0/base/clock.hpp"
#include "m0/base/fd.hpp"
#include "m0/process/control_socket.hpp"
#include "m0/process/control_verbs.hpp"
#include "m0/pubsub/event_log.hpp"

namespace m0::process {

/// One thread. Destroyed in a worker that inherited it, it closes the worker's copies and touches nothing else.
class ControlServer {
 public:
  static constexpr std::size_t kMostClients = 64;  // more wait in the backlog
  /// For a whole request, from the one before it; and for taking an answer.
  static constexpr base::Duration kPeerTime = std::chrono::seconds(5);
  /// A request that cannot be done is tried again so often, for so long.
  static constexpr base::Duration kRetryEvery = std::chrono::milliseconds(1);
  static constexpr base::Duration kPatience = std::chrono::seconds(1);
  /// Beside the event: the verb, lengths.
  static constexpr std::size_t kSlack = 1024;

  /// Throws std::system_error.
  ControlServer(ControlSocket socket, pubsub::EventLog& log, std::span<const ControlVerb> verbs = control_verbs());
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Readable when turn() has something to do, also when only time has passed, or when a descriptor given to watch()
  /// is.
  [[nodiscard]] int fd() const noexcept { return epoll_.get(); }
  void watch(int descriptor);
  /// Does what can be done now.
  void turn(base::Instant now);
  /// Nobody else comes in, and the path is free for another server. Who is connected is served on.
  void stop_listening() noexcept;
  [[nodiscard]] std::size_t clients() const noexcept { return clients_.size(); }

 private:
  struct Client;

  void accept_some(base::Instant now);
  void add_client(base::Fd socket, base::Instant now);
  void on_event(Client& client, std::uint32_t events);
  void receive(Client& client);
  /// As far as it goes without waiting.
  void advance(Client& client, base::Instant now);
  /// False: there is nothing to begin with.
  bool begin_next(Client& client, base::Instant now);
  void ask(Client& client, base::Instant now);
  void answer(Client& client, const ControlAnswer& answer, base::Instant now);
  void send(Client& client, base::Instant now);
  void reap() noexcept;
  void want(Client& client);
  void want_clients(bool wanted);
  [[nodiscard]] base::Instant next_time(base::Instant now) const noexcept;
  void wake_at(base::Instant at, base::Instant now) noexcept;

  ControlSocket socket_;
  ControlContext context_;
  std::span<const ControlVerb> verbs_;
  std::size_t largest_;
  std::vector<std::unique_ptr<Client>> clients_;
  base::Instant accept_again_ = base::Instant::max();  // after descriptors ran out
  bool listening_ = true;
  bool wanting_ = false;  // clients
  base::Fd timer_;
  base::Fd epoll_;  // the last, so that it is closed first: what a worker inherits is also the supervisor's
};

}  // namespace m0::process
