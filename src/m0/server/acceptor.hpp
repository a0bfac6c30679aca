#pragma once
// A listener in the loop: takes new clients, a few a turn, and steps back when there is no room for them.

#include <cstdint>

#include "m0/handler/exchange.hpp"
#include "m0/net/event_loop.hpp"
#include "m0/net/listener.hpp"
#include "m0/server/accept_gate.hpp"
#include "m0/server/loop_shared.hpp"

namespace m0::server {

/// The loop's thread.
class Acceptor final : public net::Watched {
 public:
  Acceptor(LoopShared& shared, AcceptGate& gate, WorkerLoad& load, net::Listener& listener);

  void start();
  void on_ready(std::uint32_t events) override;
  /// Listens again after it stepped back, when the time has come. Returns when that is.
  base::Instant resume(base::Instant now);
  /// A client has left: there may be room again.
  void room();
  /// Takes every client that has connected already, then leaves the listener alone.
  void finish();

 private:
  static constexpr int kAcceptsPerTurn = 4;
  // How long descriptors may stay exhausted before the listener is tried again.
  static constexpr base::Duration kExhaustedPause = std::chrono::milliseconds(100);
  // While they are it is said once in this time.
  static constexpr base::Duration kReportEvery = std::chrono::seconds(10);

  enum class Took : std::uint8_t { One, NobodyThere, NoDescriptor };
  Took take_one();
  void step_back(base::Instant until);

  LoopShared& shared_;
  AcceptGate& gate_;
  WorkerLoad& load_;
  net::Listener& listener_;
  handler::ListenerInfo info_;
  base::Instant resume_at_ = base::Instant::max();
  base::Instant next_report_{};
  bool full_ = false;
};

}  // namespace m0::server
