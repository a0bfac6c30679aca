#include "m0/process/supervisor.hpp"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "m0/base/fd_registry.hpp"
#include "m0/base/logger.hpp"
#include "m0/process/event_log_thread.hpp"
#include "m0/process/exit_codes.hpp"
#include "m0/process/worker_process.hpp"
#include "m0/pubsub/publisher.hpp"

namespace m0::process {
namespace {

// Workers that die before they are ready, in a row, before the server gives up.
constexpr unsigned kBootBudget = 5;
constexpr base::Duration kBootPause = std::chrono::seconds(1);
constexpr base::Duration kLongestBootPause = std::chrono::seconds(30);
// What a slow disk may take for the last of the event log.
constexpr base::Duration kForTheLog = std::chrono::seconds(5);
// A worker has this long beyond the graceful time before it is killed: it logs and runs exit functions at the end.
constexpr base::Duration kKillMargin = std::chrono::seconds(5);

constexpr std::array kSignalNumbers{SIGTERM, SIGINT, SIGCHLD, SIGHUP};

}  // namespace

Supervisor::Supervisor(const Config& config, handler::Application& application, ForkHook fork,
                       std::span<net::Listener* const> listeners, std::optional<ControlSocket> control,
                       std::string ready_line)
    : config_(config),
      application_(application),
      fork_(std::move(fork)),
      listeners_(listeners),
      ready_line_(std::move(ready_line)),
      slots_(config.workers),
      log_(log_config(config)),
      signals_(kSignalNumbers),
      own_pid_(::getpid()),
      children_(config.workers) {
  if (!control) return;
  control_ = std::make_unique<ControlServer>(std::move(*control), log_);
  control_->watch(signals_.fd());
}

std::string Supervisor::open_event_log() {
  if (config_.event_log.empty()) return {};
  auto file = pubsub::EventLogFile::open(config_.event_log, log_, kForPredecessors);
  if (!file) return file.error();
  log_file_.emplace(std::move(*file));
  report_restored(*log_file_);
  return {};
}

int Supervisor::run() {
  for (unsigned i = 0; i < config_.workers; ++i) start_worker(i);
  while (alive() > 0 || (!stop_.stopping() && exit_code_ == kExitClean)) {
    wait(tend(base::now()));
    signals_.drain();
    on_stop(stop_.signals_came(signals_.take(SIGTERM) + signals_.take(SIGINT), base::now()));
    if (signals_.take(SIGCHLD) > 0) reap();
    if (signals_.take(SIGHUP) > 0) base::log::warning("SIGHUP: there is no reload in this version; restart the server");
    look_for_ready();
    if (control_) control_->turn(base::now());
  }
  if (log_file_) {
    if (const auto done = log_file_->finish(log_, kForTheLog); !done) base::log::error("{}", done.error());
  }
  return exit_code_;
}

void Supervisor::wait(base::Instant until) {
  const int wake_fd = control_ ? control_->fd() : signals_.fd();
  if (until == base::Instant::max()) {
    application_.wait(wake_fd);
    return;
  }
  // The door waits for one descriptor; a timer pokes it when something is due before.
  const base::Duration left = std::max<base::Duration>(until - base::now(), std::chrono::milliseconds(1));
  const timespec span{static_cast<time_t>(left.count() / 1'000'000'000),
                      static_cast<long>(left.count() % 1'000'000'000)};
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGCHLD;  // already ours, and a spare look at the children does no harm
  timer_t timer{};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
    ::nanosleep(&span, nullptr);
    return;
  }
  const itimerspec once{{0, 0}, span};
  timer_settime(timer, 0, &once, nullptr);
  application_.wait(wake_fd);
  timer_delete(timer);
}

void Supervisor::start_worker(unsigned index) {
  Child& child = children_[index];
  slots_.clear(index);
  slots_[index].state.store(WorkerState::Booting, std::memory_order_relaxed);
  child = Child{};
  child.started = base::now();
  pid_t pid = -1;
  {
    const base::fd_registry::IntendedFork intended;
    pid = fork_();
  }
  if (pid == 0) be_worker(index);
  if (pid < 0) {
    base::log::error("worker {} could not be started ({}); another try follows", index, strerror(errno));
    child.start_at = base::now() + kBootPause;
    return;
  }
  child.pid = pid;
}

void Supervisor::be_worker(unsigned index) {
  // A supervisor that was killed leaves no workers behind; not even one that it was just forking.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != own_pid_) ::_exit(kExitFailed);
  for (const int number : kSignalNumbers) ::signal(number, SIG_DFL);
  control_.reset();
  int code = kExitFailed;
  try {
    base::log::start_writer();
    WorkerPlace place;
    place.index = index;
    place.slots = &slots_;
    place.log = &log_;
    place.loaded = config_.preload;
    place.became_ready = [this] { signals_.poke(); };
    place.refused = [this, index](const std::string& sentence) { slots_[index].refuse(sentence); };
    pubsub::use_log(&log_);  // under --preload the worker's hook runs with the next line
    application_.set_surroundings({config_.workers > 1, multithread(config_), index});
    code = run_worker(config_, application_, listeners_, place);
  } catch (const std::exception& failure) {
    base::log::error("worker {}: {}", index, failure.what());
  }
  base::log::stop_writer(kLastLines);
  ::_exit(code);
}

void Supervisor::reap() {
  for (unsigned i = 0; i < children_.size(); ++i) {
    if (children_[i].pid == 0) continue;
    int status = 0;
    const pid_t got = ::waitpid(children_[i].pid, &status, WNOHANG);
    if (got == children_[i].pid) worker_ended(i, status);
  }
}

void Supervisor::worker_ended(unsigned index, int status) {
  Child& child = children_[index];
  const bool was_ready = child.was_ready || slots_[index].state.load(std::memory_order_acquire) == WorkerState::Ready ||
                         slots_[index].state.load(std::memory_order_acquire) == WorkerState::Stopping;
  const pid_t pid = std::exchange(child.pid, 0);
  const std::string refusal = slots_[index].refusal.data();
  slots_.clear(index);
  log_.end_reading(index);
  // It may have died between an append and the bells.
  log_.ring();
  if (stop_.stopping() || exit_code_ != kExitClean) {
    // It was asked to end. What it lost on the way there is told all the same; what failed to load has told it, or
    // found what the first refusal said for all.
    const bool failed_too =
        WIFEXITED(status) && (WEXITSTATUS(status) == kExitFailed || WEXITSTATUS(status) == exit_code_);
    const bool asked = WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
    const bool while_loading = !was_ready && (asked || failed_too);
    if (!killing_ && !while_loading) report_end(index, pid, status);
    return;
  }

  const bool others_serve =
      std::ranges::any_of(children_, [](const Child& each) { return each.was_ready && each.pid != 0; });
  const bool refused = !was_ready && WIFEXITED(status) && WEXITSTATUS(status) == kExitConfig;
  if (refused && !refusal.empty()) {
    base::log::error("{}", refusal);
  } else if (was_ready || WIFSIGNALED(status) || WEXITSTATUS(status) != kExitFailed) {
    report_end(index, pid, status);
  }
  if (refused && !others_serve) {
    // No other worker and no other try would find it otherwise.
    give_up(kExitConfig);
    return;
  }
  if (was_ready) {
    boot_failures_ = 0;
    // One that dies young is not replaced in a tight loop.
    const bool young = base::now() - child.started < kBootPause;
    child.start_at = young ? base::now() + kBootPause : base::now();
    return;
  }
  ++boot_failures_;
  if (!announced_) {
    // What never served cannot be expected to start at the next try; the worker has logged why.
    give_up(kExitFailed);
    return;
  }
  if (boot_failures_ >= kBootBudget && !others_serve) {
    base::log::error("no worker serves, and {} in a row could not be started; the server ends", boot_failures_);
    give_up(kExitFailed);
    return;
  }
  // While others serve the tries go on, ever more slowly: the reason may pass, and half a service is better than none.
  const unsigned doubled = others_serve ? std::min(boot_failures_ - 1, 10U) : 0;
  const base::Duration pause = std::min(kLongestBootPause, kBootPause * (1U << doubled));
  base::log::error("worker {} could not be started; another try follows in {} s", index,
                   std::chrono::duration_cast<std::chrono::seconds>(pause).count());
  child.start_at = base::now() + pause;
}

void Supervisor::report_end(unsigned index, pid_t pid, int status) {
  if (WIFSIGNALED(status)) {
    base::log::error("worker {} (pid {}) was ended by signal {} ({})", index, pid, WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
  } else if (!stop_.stopping() || WEXITSTATUS(status) != kExitClean) {
    base::log::error("worker {} (pid {}) ended by itself with status {}", index, pid, WEXITSTATUS(status));
  }
}

void Supervisor::give_up(int code) {
  exit_code_ = code;
  end_workers();
}

void Supervisor::end_workers() {
  // A new client is refused from here on: in the backlog of a copy that nobody serves it would wait for nothing.
  for (net::Listener* listener : listeners_) listener->close();
  if (control_) control_->stop_listening();
  kill_at_ = base::now() + config_.server.timeouts.graceful + kKillMargin;
  signal_all(SIGTERM);
}

void Supervisor::look_for_ready() {
  bool all = true;
  for (unsigned i = 0; i < children_.size(); ++i) {
    const bool ready = slots_[i].state.load(std::memory_order_acquire) == WorkerState::Ready;
    if (ready && !children_[i].was_ready) {
      children_[i].was_ready = true;
      boot_failures_ = 0;
    }
    all = all && children_[i].was_ready;
  }
  if (all && !announced_ && !stop_.stopping()) {
    announced_ = true;
    base::log::info("{}", ready_line_);
  }
}

void Supervisor::on_stop(StopRequests::Wish wish) {
  switch (wish) {
    case StopRequests::Wish::Nothing: return;
    case StopRequests::Wish::Graceful:
      base::log::info("stopping");
      end_workers();
      return;
    case StopRequests::Wish::AtOnce:
      base::log::info("stopping at once");
      for (unsigned i = 0; i < slots_.size(); ++i) slots_[i].end_at_once.store(true, std::memory_order_release);
      kill_at_ = std::min(kill_at_, base::now() + kKillMargin);
      signal_all(SIGTERM);
      return;
  }
}

void Supervisor::signal_all(int number) noexcept {
  for (const Child& child : children_) {
    if (child.pid != 0) ::kill(child.pid, number);
  }
}

unsigned Supervisor::alive() const noexcept {
  return static_cast<unsigned>(std::ranges::count_if(children_, [](const Child& child) { return child.pid != 0; }));
}

base::Instant Supervisor::tend(base::Instant now) {
  base::Instant next = base::Instant::max();
  if (!stop_.stopping() && exit_code_ == kExitClean) {
    for (unsigned i = 0; i < children_.size(); ++i) {
      if (children_[i].pid != 0) continue;
      if (children_[i].start_at <= now)
        start_worker(i);
      else
        next = std::min(next, children_[i].start_at);
    }
  }
  if (alive() > 0 && kill_at_ != base::Instant::max()) {
    if (now >= kill_at_) {
      base::log::warning("workers did not end in time and are killed");
      killing_ = true;
      signal_all(SIGKILL);
      kill_at_ = now + kKillMargin;
    }
    next = std::min(next, kill_at_);
  }
  return next;
}

}  // namespace m0::process
