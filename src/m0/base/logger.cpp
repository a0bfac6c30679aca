#include "m0/base/logger.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <new>
#include <span>
#include <system_error>
#include <vector>

#include "m0/base/civil_time.hpp"
#include "m0/base/fd_registry.hpp"
#include "m0/base/line_ring.hpp"
#include "m0/base/log_sink.hpp"
#include "m0/base/metric.hpp"
#include "m0/base/parker.hpp"

namespace m0::base {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLines = 8192;
constexpr std::size_t kBytes = 8 << 20;
constexpr std::size_t kBatch = 64;
constexpr std::uint64_t kNudge = kLines / 8;  // a napping writer is woken by every so-and-so-many-th line
// After work the writer naps: the lines of a busy server are collected without a wake for each of them.
constexpr Duration kNap = 10ms;
constexpr Duration kStallLook = 50ms;
// What the writer has beyond its deadline to notice it, on a machine that is busy, before it is left behind.
constexpr Duration kLeave = 250ms;

const metric::Counter kDropped("m0_log_dropped_lines_total", "Lines of the log dropped because its reader was slow");
const metric::Counter kAccessDropped("m0_access_log_dropped_lines_total",
                                     "Lines of the access log dropped because its reader was slow");
const metric::Counter kFailed("m0_log_failed_lines_total",
                              "Lines of either log lost to a closed pipe, a full disk or another write error");

/// One of the two logs. The ring and the counts: any thread. The rest: whoever holds `g_draining`.
struct Stream {
  LineRing<kLines, kBytes> ring;
  std::atomic<std::uint64_t> dropped{0};  // not announced yet
  std::vector<std::string> batch;
  std::size_t skip = 0;  // bytes of the batch's first line that are out
  bool stalled = false;  // its last write did not succeed
  bool flows = false;    // this pass has written some of it
  int failure = 0;       // why, unless it was only full
  bool torn = false;     // the last line went out in part: the next begins on a line of its own
};

enum class Mode : std::uint8_t {
  Direct,    // whoever pushes writes
  Threaded,  // the writer thread does
  Lost,      // the writer thread hangs in a write that does not end; lines stay in the ring
};

/// Never destroyed: threads may log while the process exits.
union Log {
  struct State {
    Stream server;
    Stream access;
    std::atomic<Mode> mode{Mode::Direct};
    std::atomic<bool> draining{false};
    std::atomic<bool> asleep{false};
    std::atomic<bool> stop{false};
    std::atomic<std::int64_t> stop_deadline{0};
    Parker writer;
    Parker stopper;
    pthread_t thread{};
  } state;
  constexpr Log() noexcept : state() {}
  ~Log() {}
};

constinit Log g_log;
constinit std::atomic<LogLevel> g_level{LogLevel::Info};
constinit std::atomic<int> g_access_fd{-1};
constinit std::atomic<bool> g_access_owned{false};

Log::State& state() noexcept { return g_log.state; }

bool coloured() noexcept {
  static const bool yes = ::isatty(STDERR_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  return yes;
}

std::string_view level_word(LogLevel level, bool colour) noexcept {
  switch (level) {
    case LogLevel::Debug: return colour ? "\033[2mdebug\033[0m" : "debug";
    case LogLevel::Info: return colour ? "\033[32minfo\033[0m" : "info";
    case LogLevel::Warning: return colour ? "\033[33mwarning\033[0m" : "warning";
    case LogLevel::Error: return colour ? "\033[31merror\033[0m" : "error";
    case LogLevel::Critical:
    case LogLevel::Off: break;
  }
  return colour ? "\033[1;31mcritical\033[0m" : "critical";
}

void append_escaped(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto escape = [&out](unsigned char byte) {
    out += "\\x";
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    // U+0080 to U+009F: some terminals obey them as they obey ESC.
    const bool c1 = byte == 0xc2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xe0U) == 0x80;
    if (control) {
      escape(byte);
    } else if (c1) {
      escape(byte);
      escape(static_cast<unsigned char>(text[++i]));
    } else {
      out += text[i];
    }
  }
}

std::string format_line(LogLevel level, std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string line;
  line.reserve(text.size() + 56);
  append_iso_milliseconds(line, std::chrono::system_clock::now());
  line += " [";
  append_decimal(line, static_cast<std::uint64_t>(::getpid()));
  line += "] [";
  line += level_word(level, coloured());
  line += "] ";
  append_escaped(line, text);
  line += '\n';
  return line;
}

// ---- the side that writes; under `draining`

void lose_batch(Stream& stream) noexcept {
  const std::uint64_t lost = stream.batch.size();
  stream.dropped.fetch_add(lost, std::memory_order_relaxed);
  (stream.failure != 0 ? kFailed : (&stream == &state().server ? kDropped : kAccessDropped)).add(lost);
  stream.torn = stream.torn || stream.skip != 0;
  stream.batch.clear();
  stream.skip = 0;
}

void advance(Stream& stream, std::size_t bytes) noexcept {
  std::size_t whole = 0;
  while (whole < stream.batch.size() && bytes >= stream.batch[whole].size() - stream.skip) {
    bytes -= stream.batch[whole].size() - stream.skip;
    stream.skip = 0;
    ++whole;
  }
  stream.skip += bytes;
  stream.batch.erase(stream.batch.begin(), stream.batch.begin() + static_cast<std::ptrdiff_t>(whole));
}

void refill(Stream& stream) {
  stream.batch.reserve(kBatch + 2);
  while (stream.batch.size() < kBatch) {
    std::optional<std::string> line = stream.ring.pop();
    if (!line) break;
    if (std::exchange(stream.torn, false)) line->insert(line->begin(), '\n');
    stream.batch.push_back(std::move(*line));
  }
}

/// Puts what was lost into the server's log, once its stream flows again.
void announce(Stream& lossy, std::string_view name) {
  if (!lossy.flows || lossy.dropped.load(std::memory_order_relaxed) == 0) return;
  const std::uint64_t lines = lossy.dropped.exchange(0, std::memory_order_relaxed);
  state().server.batch.push_back(format_line(
      LogLevel::Warning, fmt::format("{} line{} of {} {} lost: the log was not read, or could not be written", lines,
                                     lines == 1 ? "" : "s", name, lines == 1 ? "was" : "were")));
}

void announce_failure(Stream& stream) {
  if (&stream != &state().access) return;
  state().server.batch.push_back(
      format_line(LogLevel::Error, fmt::format("the access log cannot be written ({}); its lines are lost until it can",
                                               std::generic_category().message(stream.failure))));
}

/// Writes until the stream is empty or its sink is full; true when it did anything.
bool pump(Stream& stream, LogSink& sink, bool lose_when_full) {
  bool worked = false;
  stream.flows = false;
  for (int round = 0; round < 64; ++round) {
    if (stream.batch.empty()) {
      refill(stream);
      if (&stream == &state().server) {
        announce(state().server, "this log");
        announce(state().access, "the access log");
      }
      if (stream.batch.empty()) return worked;
    }
    worked = true;
    const SinkResult result = sink.write(stream.batch, stream.skip);
    if (result.state == SinkState::Wrote) {
      stream.stalled = false;
      stream.flows = true;
      stream.failure = 0;
      advance(stream, result.bytes);
    } else if (result.state == SinkState::Full) {
      stream.stalled = true;
      if (!lose_when_full) return worked;
      lose_batch(stream);
    } else {
      const bool news = stream.failure == 0;
      stream.stalled = true;
      stream.failure = result.error;
      if (news) announce_failure(stream);
      lose_batch(stream);
    }
  }
  return worked;
}

/// Keeps a write to a closed pipe from ending a process whose SIGPIPE has its default.
class WithoutSigpipe {
 public:
  WithoutSigpipe() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec at_once{};
    if (!was_pending_) {
      while (sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

void drain_directly() noexcept {
  Log::State& log = state();
  do {
    // Somebody else is writing: whoever it is looks at the rings once more after letting go.
    if (log.draining.exchange(true, std::memory_order_seq_cst)) return;
    try {
      const WithoutSigpipe guard;
      LogSink server(STDERR_FILENO);
      UnblockedSink unblocked_server(server);
      if (!log.access.ring.empty() || !log.access.batch.empty()) {
        LogSink access(g_access_fd.load(std::memory_order_relaxed));
        UnblockedSink unblocked_access(access);
        pump(log.access, unblocked_access.get(), true);
      }
      pump(log.server, unblocked_server.get(), true);
    } catch (...) {  // no memory: what was in hand is lost
    }
    log.draining.store(false, std::memory_order_seq_cst);
  } while (!log.server.ring.empty() || !log.access.ring.empty());
}

// ---- the writer thread

void write_until_stopped() {
  Log::State& log = state();
  LogSink server(STDERR_FILENO);
  LogSink access(g_access_fd.load(std::memory_order_relaxed));
  for (;;) {
    // Read before the pass: what was pushed before the stop is in the pass that may be the last.
    const bool stop = log.stop.load(std::memory_order_seq_cst);
    const bool busy_access = pump(log.access, access, false);
    const bool busy = pump(log.server, server, false) || busy_access;
    const bool stuck =
        (log.server.stalled && !log.server.batch.empty()) || (log.access.stalled && !log.access.batch.empty());
    Duration left = kStallLook;
    if (stop) {
      left = from_ns(log.stop_deadline.load(std::memory_order_relaxed)) - now();
      if (!busy || left <= Duration::zero()) return;
    }
    if (stuck) {
      const LogSink& slow = log.server.stalled ? server : access;
      slow.wait_writable(std::min(left, kStallLook));
    } else if (busy) {
      if (!stop) log.writer.wait_until(now() + kNap);
    } else {
      log.asleep.store(true, std::memory_order_seq_cst);
      if (log.server.ring.empty() && log.access.ring.empty() && !log.stop.load(std::memory_order_seq_cst)) {
        log.writer.wait();
      }
      log.asleep.store(false, std::memory_order_relaxed);
    }
  }
}

void* writer_main(void*) {
  pthread_setname_np(pthread_self(), "m0-log");
  Log::State& log = state();
  while (log.draining.exchange(true, std::memory_order_seq_cst)) log.writer.wait_until(now() + 1ms);
  try {
    write_until_stopped();
  } catch (...) {  // no memory: lines are written by their callers from here on
  }
  log.mode.store(Mode::Direct, std::memory_order_seq_cst);
  log.draining.store(false, std::memory_order_seq_cst);
  drain_directly();
  log.stopper.wake();
  return nullptr;
}

void restart_in_child() noexcept {
  Log::State& log = state();
  for (Stream* stream : {&log.server, &log.access}) {
    stream->ring.restart_in_child();
    stream->dropped.store(0, std::memory_order_relaxed);
    // The parent's writer may have been inside it: neither read nor freed.
    ::new (static_cast<void*>(&stream->batch)) std::vector<std::string>();
    stream->skip = 0;
    stream->stalled = stream->flows = stream->torn = false;
    stream->failure = 0;
  }
  log.mode.store(Mode::Direct, std::memory_order_relaxed);
  for (auto* flag : {&log.draining, &log.asleep, &log.stop}) flag->store(false, std::memory_order_relaxed);
  ::new (static_cast<void*>(&log.writer)) Parker();
  ::new (static_cast<void*>(&log.stopper)) Parker();
  // A child that the application forked has lost the access log with all that is ours, and its number may be reused.
  if (!fd_registry::fork_is_intended()) g_access_fd.store(-1, std::memory_order_relaxed);
}

[[maybe_unused]] const int g_hooked = pthread_atfork(nullptr, nullptr, restart_in_child);

void submit(Stream& stream, std::string&& line, bool urgent) noexcept {
  Log::State& log = state();
  if (!stream.ring.push(std::move(line))) {
    stream.dropped.fetch_add(1, std::memory_order_relaxed);
    (&stream == &log.server ? kDropped : kAccessDropped).add();
    urgent = true;
  }
  switch (log.mode.load(std::memory_order_seq_cst)) {
    case Mode::Direct: drain_directly(); break;
    case Mode::Threaded:
      if (urgent || stream.ring.pushed() % kNudge == 0 ||
          (log.asleep.load(std::memory_order_seq_cst) && log.asleep.exchange(false, std::memory_order_seq_cst))) {
        log.writer.wake();
      }
      break;
    case Mode::Lost: break;
  }
}

}  // namespace

bool parse_log_level(std::string_view word, LogLevel& level) noexcept {
  static constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kWords{{{"debug", LogLevel::Debug},
                                                                                {"info", LogLevel::Info},
                                                                                {"warning", LogLevel::Warning},
                                                                                {"error", LogLevel::Error},
                                                                                {"critical", LogLevel::Critical}}};
  for (const auto& [name, value] : kWords) {
    if (!iequals(name, word)) continue;
    level = value;
    return true;
  }
  return false;
}

namespace log {

bool enabled(LogLevel level) noexcept { return level >= g_level.load(std::memory_order_relaxed); }
void set_level(LogLevel level) noexcept { g_level.store(level, std::memory_order_relaxed); }

void open_access(const std::string& path) {
  int fd = -1;
  bool owned = false;
  if (path == "-") {
    fd = STDOUT_FILENO;
  } else if (!path.empty()) {
    // O_NONBLOCK: a named pipe that nobody reads is an error now and not a hang.
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
    fd_registry::add(fd);
    owned = true;
  }
  const int before = g_access_fd.exchange(fd, std::memory_order_relaxed);
  if (g_access_owned.exchange(owned, std::memory_order_relaxed) && before >= 0) {
    fd_registry::remove(before);
    ::close(before);
  }
}

void start_writer() {
  Log::State& log = state();
  if (log.mode.load(std::memory_order_seq_cst) != Mode::Direct) return;
  log.stop.store(false, std::memory_order_relaxed);

  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  log.mode.store(Mode::Threaded, std::memory_order_seq_cst);
  const int failed = pthread_create(&log.thread, nullptr, writer_main, nullptr);
  if (failed != 0) log.mode.store(Mode::Direct, std::memory_order_seq_cst);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), "pthread_create");
}

void stop_writer(Duration within) noexcept {
  Log::State& log = state();
  if (log.mode.load(std::memory_order_seq_cst) != Mode::Threaded) return;
  const Instant deadline = now() + within;
  log.stop_deadline.store(to_ns(deadline), std::memory_order_relaxed);
  log.stop.store(true, std::memory_order_seq_cst);
  log.writer.wake();
  // A little more than the writer has, so that it gives up first and says so.
  if (log.stopper.wait_until(deadline + kLeave)) {
    pthread_join(log.thread, nullptr);
  } else {
    log.mode.store(Mode::Lost, std::memory_order_seq_cst);
    pthread_detach(log.thread);
  }
}

void write(LogLevel level, std::string_view text) noexcept {
  if (!enabled(level)) return;
  try {
    submit(state().server, format_line(level, text), level >= LogLevel::Warning);
  } catch (...) {  // no memory for the line
    kDropped.add();
  }
}

void write_access(std::string&& line) noexcept {
  if (g_access_fd.load(std::memory_order_relaxed) < 0) return;
  try {
    line += '\n';
    submit(state().access, std::move(line), false);
  } catch (...) {
    kAccessDropped.add();
  }
}

}  // namespace log
}  // namespace m0::base
