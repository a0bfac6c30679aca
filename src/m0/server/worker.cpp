#include "m0/server/worker.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/base/processors.hpp"
#include "m0/net/socket.hpp"
#include "m0/server/connection.hpp"

namespace m0::server {
namespace {

const base::metric::Counter g_answers("m0_answers_total", "Answers sent to their end");
const base::metric::Gauge g_connections("m0_connections", "Connections that are open");

// With so many jobs waiting the sockets can wait so long; but only while answers come back several at a time. Where a
// job takes a millisecond, naps found nothing and cost its thread a tenth of its processor.
constexpr std::size_t kNapFrom = 4;
constexpr unsigned kNapWorthwhile = 2;
// With more requests at the pool the sockets have something to tell meanwhile.
constexpr std::size_t kSpinFor = 4;
constexpr base::Duration kNap = std::chrono::microseconds(50);
// At the end of a worker its pool threads are asked this often whether they have left.
constexpr base::Duration kJoinEvery = std::chrono::milliseconds(1);
// And have at least this long, also when the graceful time is used up: most are idle and only have to wake.
constexpr base::Duration kJoinAtLeast = std::chrono::milliseconds(250);

net::PeerName to_name(const handler::PeerAddress& peer) noexcept {
  return {peer.bytes, peer.port, static_cast<net::PeerName::Family>(peer.family)};
}

/// The loop's thread leaves every signal to the main thread, but those that a fault of its own raises: a mask is
/// inherited through exec, so no other thread of ours may block any.
void block_signals() {
  sigset_t blocked;
  sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

}  // namespace

Worker::Worker(const Config& config, handler::Application& application, std::span<net::Listener* const> listeners,
               Place place, std::function<void()> changed)
    : config_(config),
      application_(application),
      place_(place),
      changed_(std::move(changed)),
      shared_(loop_, config_, *this),
      gate_(place.loads, place.index),
      access_log_(config.access_log_format),
      mounts_(config_),
      pool_(loop_.waker(), place.index),
      dispatcher_(mounts_, pool_),
      spin_gate_(base::usable_processors() > 1) {
  for (net::Listener* listener : listeners) {
    acceptors_.push_back(std::make_unique<Acceptor>(shared_, gate_, place_.loads[place_.index], *listener));
  }
  for (std::size_t i = 0; i < mounts_.lanes().size(); ++i) {
    pool::LaneConfig lane = mounts_.lanes()[i];
    lane.parallelism = application_.parallelism();
    pool_.add_lane(lane, [this, targets = mounts_.targets_of(i)](handler::JobThread& thread) {
      const std::unique_ptr<handler::ThreadBody> body = application_.make_thread(thread.context(), targets);
      thread.ready();
      body->run(thread);
    });
  }
  sweep_every_ = std::chrono::seconds(1);
  for (const net::TickClock& clock : shared_.clocks) sweep_every_ = std::min(sweep_every_, clock.sweep_every());
  for (const pool::LaneConfig& lane : mounts_.lanes()) {
    if (lane.queue_timeout > base::Duration::zero()) {
      sweep_every_ =
          std::min(sweep_every_, std::max<base::Duration>(lane.queue_timeout / 8, std::chrono::milliseconds(1)));
    }
  }
}

Worker::~Worker() {
  if (thread_.joinable()) thread_.join();
}

void Worker::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "m0-loop");
    block_signals();
    run();
  });
}

std::string Worker::build() {
  // Here and not on the main thread: building a thread's body may need the interpreter lock, which the main thread
  // gives up only once it waits.
  try {
    loop_body_ = application_.make_loop(place_.index);
  } catch (const std::exception& failure) {
    return failure.what();
  } catch (...) {
    return "what answers on the loop could not be built";
  }
  dispatcher_.use_loop_body(loop_body_.get());
  if (place_.log != nullptr) {
    held::Config held = config_.held;
    held.closes_at_once = std::max<std::size_t>(1, config_.lane.threads / 2);
    held_ = std::make_unique<held::Registry>(*place_.log, place_.index, held, static_cast<handler::PostOffice&>(*this));
    shared_.held = held_.get();
    loop_.add(bell_, place_.log->bell_fd(place_.index), EPOLLIN | EPOLLET);
  }
  return pool_.start();
}

void Worker::run() {
  failure_ = build();
  if (failure_.empty()) {
    for (auto& acceptor : acceptors_) acceptor->start();
    place_.loads[place_.index].accepting.store(true, std::memory_order_relaxed);
    enter(State::Ready);
    loop_.run(*this);
  } else {
    enter(State::Failed);
    pool_.stop();
    all_threads_left_ = pool_.join_until(base::now() + std::chrono::seconds(5));
  }
  loop_body_.reset();
  enter(State::Ended);
}

void Worker::enter(State state) {
  state_.store(state, std::memory_order_release);
  changed_();
}

void Worker::stop() noexcept {
  Stop none = Stop::No;
  stop_wanted_.compare_exchange_strong(none, Stop::Graceful, std::memory_order_seq_cst);
  loop_.waker().wake();
}

void Worker::abort() noexcept {
  stop_wanted_.store(Stop::Now, std::memory_order_seq_cst);
  loop_.waker().wake();
}

bool Worker::join() {
  if (thread_.joinable()) thread_.join();
  return all_threads_left_;
}

// ---- the turn

bool Worker::work_left() {
  if (held_ && !held_->may_sleep()) return true;
  return !shared_.again.empty() || !shared_.to_write.empty() || !pool_.nothing_came_back() ||
         stop_wanted_.load(std::memory_order_seq_cst) != stop_;
}

void Worker::again() {
  if (held_) held_->awake();
  shared_.refresh_date();
  const Stop wanted = stop_wanted_.load(std::memory_order_acquire);
  if (wanted != stop_) {
    if (stop_ == Stop::No) begin_stop();
    stop_ = wanted;
    if (wanted == Stop::Now) stop_deadline_ = loop_.now();
    shared_.nearest_timer = loop_.now();
  }
  going_on_.swap(shared_.again);
  for (const base::SlotHandle handle : going_on_) {
    if (Connection* connection = shared_.connections.find(handle)) connection->go_on();
  }
  going_on_.clear();
}

void Worker::drain() {
  came_back_ = 0;
  pool_.drain([this](handler::Exchange& exchange) {
    ++came_back_;
    const handler::Exchange::Seen seen = exchange.take_notice();
    if (seen.returned) with_pool_.store(with_pool() - 1, std::memory_order_relaxed);
    if (exchange.owner != nullptr) {
      exchange.owner->on_notice(exchange, seen);
      return;
    }
    Connection* connection = shared_.connections.find(exchange.connection);
    if (connection != nullptr && connection->exchange() == &exchange) {
      connection->on_notice(seen);
    } else if (seen.returned) {  // its client is gone
      shared_.exchanges.give_back(&exchange);
    }
  });
}

base::Instant Worker::timers(base::Instant now) {
  if (now < shared_.nearest_timer) return shared_.nearest_timer;
  if (now >= next_sweep_) {
    shared_.connections.for_each([now](base::SlotHandle, Connection& connection) { connection.sweep(now); });
    if (held_) held_->tick(now);
    dispatcher_.look_for_stuck_lanes(now);
    next_sweep_ = now + sweep_every_;
  }
  base::Instant next = next_sweep_;
  for (auto& acceptor : acceptors_) next = std::min(next, acceptor->resume(now));
  if (stop_ != Stop::No) next = std::min(next, tend_stop(now));
  shared_.nearest_timer = next;
  return next;
}

void Worker::write() {
  if (held_) held_->turn();
  writing_.swap(shared_.to_write);
  for (Connection* connection : writing_) connection->write_out();
  writing_.clear();
}

base::Instant Worker::hand_over(base::Instant) {
  pool_.hand_over();
  const base::Instant next = pool_.tend(loop_.now());
  return held_ ? std::min(next, held_->retry_outbox(loop_.now())) : next;
}

bool Worker::spin() {
  if (with_pool() == 0 || with_pool() > kSpinFor || !spin_gate_.worth_trying()) return false;
  const base::Instant end = base::now() + SpinGate::kTime;
  bool came = false;
  do {
    base::relax_processor();
    came = !pool_.nothing_came_back();
  } while (!came && base::now() < end);
  spin_gate_.tried(came);
  return came;
}

base::Duration Worker::nap() {
  return came_back_ >= kNapWorthwhile && pool_.waiting() >= kNapFrom ? kNap : base::Duration::zero();
}

void Worker::reap() {
  if (shared_.to_reap.empty()) return;
  // A connection that closed while it was queued to be written is still in that list.
  std::erase_if(shared_.to_write, [](const Connection* connection) { return connection->closed(); });
  for (Connection* connection : shared_.to_reap) shared_.connections.erase(connection->handle());
  shared_.to_reap.clear();
  const auto open = static_cast<std::uint32_t>(shared_.connections.size());
  place_.loads[place_.index].connections.store(open, std::memory_order_relaxed);
  g_connections.set(open);
  for (auto& acceptor : acceptors_) acceptor->room();
}

// ---- requests

Submitted Worker::submit(handler::Exchange& exchange) {
  const Submitted submitted = dispatcher_.submit(exchange, loop_.now());
  if (submitted == Submitted::Queued) with_pool_.store(with_pool() + 1, std::memory_order_relaxed);
  return submitted;
}

Submitted Worker::post(handler::Exchange& exchange) {
  exchange.arrived = exchange.queued = loop_.now();
  exchange.log_position = held_->arrival();
  const Submitted said = submit(exchange);
  exchange.queue_deadline = base::Instant::max();  // it waits as long as it takes: nobody would ask again
  return said;
}

void Worker::give_back(handler::Exchange& exchange, std::uint64_t body_bytes) {
  answered(exchange, exchange.response.head.status, body_bytes, true);
  shared_.exchanges.give_back(&exchange);
}

void Worker::answered(const handler::Exchange& exchange, int status, std::uint64_t body_bytes, bool complete) {
  if (complete) g_answers.add();
  if (config_.access_log.empty()) return;
  const http::RequestHead& request = exchange.request;
  const base::Duration duration = base::now() - exchange.arrived;
  const std::string peer = net::address_text(to_name(exchange.peer));
  AccessLogEntry entry;
  entry.time =
      std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::system_clock::duration>(duration);
  entry.peer = peer;
  entry.method = request.method;
  entry.target = request.target;
  if (request.version == http::Version::Http10) entry.protocol = "HTTP/1.0";
  entry.status = status;
  entry.body_bytes = body_bytes;
  entry.referer = request.find("Referer");
  entry.user_agent = request.find("User-Agent");
  entry.duration = duration;
  entry.queued = std::max(exchange.began - exchange.queued, base::Duration::zero());
  base::log::write_access(access_log_.line(entry));
}

// ---- the way out

void Worker::begin_stop() {
  shared_.stopping = true;
  shared_.answers.stopping = true;
  for (auto& acceptor : acceptors_) acceptor->finish();
  place_.loads[place_.index].accepting.store(false, std::memory_order_relaxed);
  shared_.connections.for_each([](base::SlotHandle, Connection& connection) { connection.stop(); });
  stop_began_ = loop_.now();
  stop_deadline_ = stop_began_ + config_.timeouts.graceful;
}

void Worker::cut_what_is_left(const char* why) {
  shared_.connections.for_each([&](base::SlotHandle, Connection& connection) {
    if (connection.closed()) return;
    if (const handler::Exchange* exchange = connection.exchange()) {
      const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(loop_.now() - exchange->arrived);
      base::log::warning("{}: ended {} {} after {}.{:03} s", why, exchange->request.method, exchange->request.path,
                         age.count() / 1000, age.count() % 1000);
    }
    connection.cut();
  });
}

void Worker::stop_pool() {
  pool_stopping_ = true;
  join_deadline_ = std::max(stop_deadline_, loop_.now() + kJoinAtLeast);
  pool_.stop();
}

base::Instant Worker::tend_stop(base::Instant now) {
  if (!pool_stopping_) {
    if (held_) static_cast<void>(held_->drain(now - stop_began_, stop_deadline_ - stop_began_));
    if (now >= stop_deadline_ && shared_.connections.size() > shared_.to_reap.size()) {
      cut_what_is_left(stop_ == Stop::Now ? "stopped by a second signal" : "the graceful time is over");
    }
    const bool messages_left = held_ && !held_->messages_answered() && now < stop_deadline_;
    if (shared_.connections.size() > shared_.to_reap.size() || messages_left) {
      return std::min(stop_deadline_, now + std::chrono::milliseconds(10));
    }
    stop_pool();
  }
  if (pool_.joined()) {
    all_threads_left_ = true;
    loop_.stop();
  } else if (now >= join_deadline_) {
    base::log::warning("pool threads are still inside a handler; the worker ends without them");
    loop_.stop();
  }
  return now + kJoinEvery;
}

}  // namespace m0::server
