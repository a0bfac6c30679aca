#pragma once
// One worker: a loop thread, its connections, the pool, and the way out.

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "m0/handler/application.hpp"
#include "m0/handler/post_office.hpp"
#include "m0/held/registry.hpp"
#include "m0/net/event_loop.hpp"
#include "m0/net/listener.hpp"
#include "m0/pool/offload_pool.hpp"
#include "m0/pubsub/event_log.hpp"
#include "m0/server/accept_gate.hpp"
#include "m0/server/acceptor.hpp"
#include "m0/server/access_log.hpp"
#include "m0/server/config.hpp"
#include "m0/server/dispatcher.hpp"
#include "m0/server/loop_shared.hpp"
#include "m0/server/mount_table.hpp"
#include "m0/server/spin_gate.hpp"

namespace m0::server {

/// Constructor, start(), join(), destructor: the worker's main thread. stop(), abort(), state(): any thread.
class Worker final : private net::TurnSteps, private RequestSink, private handler::PostOffice {
 public:
  struct Place {
    unsigned index = 0;
    std::span<WorkerLoad> loads;      // of all workers; [index] is this one's
    pubsub::EventLog* log = nullptr;  // null: no connection is held
  };
  enum class State : std::uint8_t { Starting, Ready, Failed, Ended };

  /// `changed` is called on the loop's thread whenever state() has changed; it must not block. Throws
  /// std::system_error when the kernel gives no epoll or eventfd.
  Worker(const Config& config, handler::Application& application, std::span<net::Listener* const> listeners,
         Place place, std::function<void()> changed);
  ~Worker();

  /// Starts the loop's thread, which starts the pool.
  void start();
  [[nodiscard]] State state() const noexcept { return state_.load(std::memory_order_acquire); }
  /// Requests that wait for a thread. Any thread; a moment's truth.
  [[nodiscard]] std::size_t waiting() const noexcept { return pool_.waiting(); }
  /// Requests that the pool has, whether they wait or run. Any thread; a moment's truth.
  [[nodiscard]] std::size_t with_pool() const noexcept { return with_pool_.load(std::memory_order_relaxed); }
  /// Of State::Failed: one sentence.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

  /// Listeners close, idle connections close, what is in flight finishes within the graceful time.
  void stop() noexcept;
  /// What is left is cut now; the log names it.
  void abort() noexcept;
  /// Waits for the loop's thread. Returns whether every pool thread has left (false: some are stuck in a handler).
  bool join();

 private:
  enum class Stop : std::uint8_t { No, Graceful, Now };

  /// Wakes the loop when something was published. Edge-triggered, like the loop's waker: it is never read.
  class Bell final : public net::Watched {
   public:
    void on_ready(std::uint32_t) override {}
  };

  // net::TurnSteps
  void again() override;
  void drain() override;
  base::Instant timers(base::Instant now) override;
  void write() override;
  base::Instant hand_over(base::Instant now) override;
  bool spin() override;
  base::Duration nap() override;
  void reap() override;
  bool work_left() override;

  // RequestSink
  Submitted submit(handler::Exchange& exchange) override;
  void answered(const handler::Exchange& exchange, int status, std::uint64_t body_bytes, bool complete) override;

  // handler::PostOffice
  bool has_room(std::string_view path) override { return !pool_stopping_ && dispatcher_.has_room_for_message(path); }
  handler::Exchange* take_exchange() override { return shared_.exchanges.take(); }
  Submitted post(handler::Exchange& exchange) override;
  void give_back(handler::Exchange& exchange, std::uint64_t body_bytes) override;
  void discard(handler::Exchange& exchange) override { shared_.exchanges.give_back(&exchange); }

  void run();
  [[nodiscard]] std::string build();
  void enter(State state);
  void begin_stop();
  void cut_what_is_left(const char* why);
  void stop_pool();
  base::Instant tend_stop(base::Instant now);

  const Config& config_;
  handler::Application& application_;
  const Place place_;
  const std::function<void()> changed_;

  net::EventLoop loop_;
  Bell bell_;
  std::unique_ptr<held::Registry> held_;  // made on the loop's thread; the connections leave before it goes
  LoopShared shared_;
  AcceptGate gate_;
  AccessLogFormatter access_log_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  const MountTable mounts_;
  pool::OffloadPool<handler::Exchange> pool_;
  Dispatcher dispatcher_;
  std::unique_ptr<handler::LoopBody> loop_body_;  // made and destroyed on the loop's thread

  std::atomic<State> state_{State::Starting};
  std::atomic<Stop> stop_wanted_{Stop::No};
  std::string failure_;
  Stop stop_ = Stop::No;  // what the loop has acted on
  SpinGate spin_gate_;
  std::atomic<std::size_t> with_pool_{0};  // written by the loop alone
  unsigned came_back_ = 0;                 // answers and notices of this turn
  bool pool_stopping_ = false;
  bool all_threads_left_ = false;
  base::Instant stop_began_{};
  base::Instant stop_deadline_ = base::Instant::max();
  base::Instant join_deadline_ = base::Instant::max();
  base::Instant next_sweep_{};
  base::Duration sweep_every_{};
  std::vector<Connection*> writing_;
  std::vector<base::SlotHandle> going_on_;
  std::thread thread_;
};

}  // namespace m0::server
