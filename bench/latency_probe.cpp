// Asks one path at a steady, jittered pace and tells the percentiles of the answers' latency, while other connections
// keep other paths busy. One thread that sleeps between arrivals, so that on two cores it leaves one to the server and
// the other almost whole.
//
// Arrivals do not wait for answers: one that finds every connection busy waits for a free one and its time counts from
// when it arrived. A server that stands still for 200 ms is so charged for everybody who came in these 200 ms, not for
// one.

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "m0/base/clock.hpp"

#include "client_loop.hpp"
#include "latencies.hpp"
#include "pace.hpp"

namespace m0::bench {
namespace {

using base::Duration;
using base::Instant;

constexpr Duration kDrain = std::chrono::seconds(3);  // longer than any view here takes: no answer is left half-way
constexpr std::uint64_t kMaxFailures = 200;           // a server that only fails is not measured in a hot loop

struct Options {
  std::uint16_t port = 0;
  std::string path = "/fast";
  unsigned connections = 16;
  double interval_us = 3000;
  double seconds = 3;
  double warmup = 0.5;
  std::vector<std::string> loads;  // PATH=CONNECTIONS
  std::uint64_t requests = 0;      // of the loads together, instead of a time
  bool fresh = false;
};

/// What the connection of the same index is for. `load` < 0: it probes.
struct Client {
  int load;
  Instant arrived;
};

struct Load {
  std::string path;
  std::uint64_t answered = 0;
};

/// The whole run. One thread.
class Probe {
 public:
  explicit Probe(const Options& options) : options_(options), loop_(options.port, !options.fresh) {
    for (unsigned i = 0; i < options.connections && options.requests == 0; ++i) add(options.path, -1);
    for (const std::string& load : options.loads) {
      const std::size_t equals = load.rfind('=');
      const unsigned count = static_cast<unsigned>(std::stoul(load.substr(equals + 1)));
      loads_.push_back({load.substr(0, equals), 0});
      for (unsigned i = 0; i < count; ++i) add(loads_.back().path, static_cast<int>(loads_.size()) - 1);
    }
  }

  /// False: the server failed too often to be measured.
  bool run() {
    const Instant start = base::now();
    measured_from_ = start + seconds(options_.warmup);
    const Instant end = options_.requests > 0 ? Instant::max() : measured_from_ + seconds(options_.seconds);
    pace_ = Pace(options_.requests > 0 ? Instant::max() : start, seconds(options_.interval_us / 1e6));
    for (std::size_t i = 0; i < clients_.size(); ++i)
      if (clients_[i].load >= 0) ask_again(i);
    while (base::now() < end && failures_ < kMaxFailures && !spent()) turn(std::min(pace_.next(), end));
    stopping_ = true;
    const Instant deadline = base::now() + kDrain;
    while (base::now() < deadline && loop_.any_busy()) turn(deadline);
    count_unanswered();
    return failures_ < kMaxFailures;
  }

  void print() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto cpu = [](timeval t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
    std::string loads;
    for (const Load& load : loads_)
      loads += fmt::format("{}\"{}\": {}", loads.empty() ? "" : ", ", load.path, load.answered);
    fmt::print(
        "{{\"samples\": {}, \"p50_us\": {:.1f}, \"p90_us\": {:.1f}, \"p99_us\": {:.1f}, \"max_us\": {:.1f}, "
        "\"failures\": {}, \"unanswered\": {}, \"client_cpu_s\": {:.3f}, \"loads\": {{{}}}}}\n",
        latencies_.count(), latencies_.percentile_us(0.5), latencies_.percentile_us(0.9),
        latencies_.percentile_us(0.99), latencies_.percentile_us(1), failures_, unanswered_,
        cpu(usage.ru_utime) + cpu(usage.ru_stime), loads);
  }

 private:
  static Duration seconds(double s) { return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s)); }

  void add(const std::string& path, int load) {
    const std::size_t index = loop_.add(path);
    if (load < 0) idle_.push_back(index);
    clients_.push_back({load, {}});
  }

  [[nodiscard]] bool spent() const { return options_.requests > 0 && asked_ >= options_.requests; }

  /// Sleeps until an answer or `until`, takes the answers, then sends what arrived.
  void turn(Instant until) {
    loop_.turn(until, [this](std::size_t index, bool answered) { answered ? take_answer(index) : fail(index); });
    if (stopping_) return;
    // An arrival's time is when this loop saw it: how late the kernel woke the client is not the server's doing.
    for (const Instant now = base::now(); pace_.next() <= now; pace_.advance()) waiting_.push_back(now);
    while (!waiting_.empty() && !idle_.empty()) {
      const std::size_t index = idle_.front();
      idle_.pop_front();
      clients_[index].arrived = waiting_.front();
      waiting_.pop_front();
      ask(index);
    }
  }

  void ask(std::size_t index) {
    if (!loop_.ask(index)) fail(index);
  }

  void ask_again(std::size_t index) {
    if (stopping_ || spent()) return;
    ++asked_;
    ask(index);
  }

  void fail(std::size_t index) {
    if (++failures_ >= kMaxFailures) return;
    const Client& client = clients_[index];
    client.load < 0 ? idle_.push_back(index) : ask_again(index);
  }

  void take_answer(std::size_t index) {
    const Client& client = clients_[index];
    if (client.load >= 0) {
      ++loads_[static_cast<std::size_t>(client.load)].answered;
      return ask_again(index);
    }
    record(client.arrived);
    idle_.push_back(index);
  }

  void record(Instant arrived) {
    if (arrived < measured_from_) return;
    latencies_.add(base::now() - arrived);
  }

  /// Who got no answer counts with the time waited so far; leaving them out would flatter a server that stands still.
  void count_unanswered() {
    for (std::size_t i = 0; i < clients_.size(); ++i)
      if (clients_[i].load < 0 && loop_.busy(i)) waiting_.push_back(clients_[i].arrived);
    unanswered_ = waiting_.size();
    for (const Instant arrived : waiting_) record(arrived);
  }

  const Options& options_;
  ClientLoop loop_;
  std::vector<Client> clients_;
  std::vector<Load> loads_;
  std::deque<std::size_t> idle_;  // probing connections that are free
  std::deque<Instant> waiting_;   // arrivals without a connection
  Latencies latencies_;
  Instant measured_from_;
  Pace pace_{Instant::max(), Duration::zero()};
  std::uint64_t asked_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t unanswered_ = 0;
  bool stopping_ = false;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the latency of one path beside load on others.");
  app.add_option("--port", options.port)->required();
  app.add_option("--path", options.path, "The path that is measured");
  app.add_option("--connections", options.connections, "Connections that measure");
  app.add_option("--interval-us", options.interval_us, "Mean time between arrivals");
  app.add_option("--seconds", options.seconds, "Measured time");
  app.add_option("--warmup", options.warmup, "Seconds before that");
  app.add_option("--load", options.loads, "PATH=N: N connections that ask PATH without a pause")
      ->check(CLI::Validator(
          [](std::string& text) {
            const std::size_t equals = text.rfind('=');
            const bool good = equals != std::string::npos && equals + 1 < text.size() &&
                              std::ranges::all_of(text.substr(equals + 1), [](char c) { return c >= '0' && c <= '9'; });
            return good ? std::string() : "PATH=N is wanted, not " + text;
          },
          "PATH=N"));
  app.add_option("--requests", options.requests, "No probing: this many requests of the loads, then stop");
  app.add_flag("--fresh", options.fresh, "A new connection for every request");
  CLI11_PARSE(app, argc, argv);

  wake_punctually();
  Probe probe(options);
  const bool measured = probe.run();
  probe.print();
  if (!measured) fmt::print(stderr, "latency_probe: the server failed {} requests\n", kMaxFailures);
  return measured ? 0 : 1;
}

}  // namespace
}  // namespace m0::bench

int main(int argc, char** argv) { return m0::bench::run(argc, argv); }
