// Opens many event streams or WebSockets, publishes, and counts what comes: one measurement as a line of JSON.
//
//   burst   publishes one after the other, each as soon as the one before was answered; then waits until every
//           subscriber has every event
//   paced   so many publishes a second; latency counts from when one was sent to when a subscriber read it
//
// An event's data is "~" and its number in eight digits, then dots up to --bytes. What is published is a GET whose
// target has the data for its {}, or with --body a POST. Any server will do that answers a subscription with 200 or
// 101.

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "m0/base/fd.hpp"

#include "answer_reader.hpp"
#include "delivery_reader.hpp"
#include "endpoint.hpp"
#include "latencies.hpp"
#include "process_cpu.hpp"

namespace m0::bench {
namespace {

struct Options {
  std::string subscribe;
  std::string publish;
  std::string body;
  bool websocket = false;
  std::vector<pid_t> processes;
  unsigned subscribers = 1000;
  unsigned at_once = 16;
  unsigned events = 200;
  unsigned bytes = 100;
  double rate = 0;  // a second; 0: a burst
  double patience = 10;
};

constexpr unsigned kPerAddress = 5000;
constexpr std::uint8_t kFirstAddress = 2;

[[noreturn]] void fail(const char* what) { throw std::runtime_error(what); }

std::string filled(std::string_view pattern, std::string_view data) {
  const std::size_t place = pattern.find("{}");
  if (place == std::string_view::npos) return std::string(pattern);
  return fmt::format("{}{}{}", pattern.substr(0, place), data, pattern.substr(place + 2));
}

std::string subscription(const Endpoint& at, bool websocket) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}\r\n", at.target, at.port,
                     websocket ? "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                               : "Accept: text/event-stream\r\n");
}

/// One publish after the other. The connection is opened anew where the server closes it.
class Publisher {
 public:
  Publisher(const Options& options, int epoll, std::uint64_t tag)
      : options_(options), at_(Endpoint::parse(options.publish)), epoll_(epoll), tag_(tag) {}

  void send(std::string_view data) {
    if (!fd_) connect();
    const std::string body = filled(options_.body, data);
    const std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", body.empty() ? "GET" : "POST",
                                         filled(at_.target, data), at_.port);
    const std::string length = body.empty() ? "" : fmt::format("Content-Length: {}\r\n", body.size());
    send_all(fd_.get(), fmt::format("{}{}\r\n{}", head, length, body));
  }

  /// Whether the answer is complete.
  bool receive() {
    std::array<char, 4096> piece;
    const ssize_t got = ::recv(fd_.get(), piece.data(), piece.size(), 0);
    if (got <= 0) fail("the publisher was not answered");
    const AnswerReader::State state = reader_.feed({piece.data(), static_cast<std::size_t>(got)});
    if (state == AnswerReader::State::Reading) return false;
    if (state == AnswerReader::State::Bad || reader_.status() / 100 != 2) fail("the publisher was refused");
    if (reader_.closes()) fd_.reset();
    reader_.reset();
    return true;
  }

 private:
  void connect() {
    fd_ = connect_from(1, at_.port);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag_;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_.get(), &event);
  }

  const Options& options_;
  Endpoint at_;
  base::Fd fd_;
  AnswerReader reader_;
  int epoll_;
  std::uint64_t tag_;
};

struct Subscriber {
  base::Fd fd;
  DeliveryReader reader;
};

class FanOut {
 public:
  explicit FanOut(const Options& options)
      : options_(options),
        at_(Endpoint::parse(options.subscribe)),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        publisher_(options, epoll_.get(), kPublisher) {}

  void open() {
    subscribers_.resize(options_.subscribers);
    const std::string question = subscription(at_, options_.websocket);
    for (unsigned from = 0; from < options_.subscribers; from += options_.at_once) {
      const unsigned until = std::min(options_.subscribers, from + options_.at_once);
      for (unsigned i = from; i < until; ++i) {
        subscribers_[i].fd = connect_from(static_cast<std::uint8_t>(kFirstAddress + i / kPerAddress), at_.port);
        send_all(subscribers_[i].fd.get(), question);
      }
      for (unsigned i = from; i < until; ++i) opened(i);
    }
  }

  void run() {
    const std::uint64_t expected = std::uint64_t{options_.subscribers} * options_.events;
    const double cpu_before = cpu_seconds(options_.processes);
    began_ = last_ = base::now();
    publish();
    while (delivered_ < expected || answered_ < options_.events) {
      const base::Instant now = base::now();
      if (now > last_ + seconds(options_.patience)) break;
      if (published_ < options_.events && due(now)) publish();
      std::array<epoll_event, 64> events;  // few: the publisher's answer is not to wait behind many
      const int ready = ::epoll_wait(epoll_.get(), events.data(), events.size(), 1);
      for (int i = 0; i < ready; ++i) {
        const std::uint64_t who = events[static_cast<std::size_t>(i)].data.u64;
        who == kPublisher ? read_answer() : read_events(subscribers_[who]);
      }
    }
    tell(expected, cpu_seconds(options_.processes) - cpu_before);
  }

 private:
  static constexpr std::uint64_t kPublisher = ~std::uint64_t{0};

  static base::Duration seconds(double count) {
    return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(count));
  }

  /// Waits for the head of the answer. What comes behind it in the same piece is no event yet: none is published.
  void opened(unsigned index) {
    const int fd = subscribers_[index].fd.get();
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
      std::array<char, 4096> piece;
      const ssize_t got = ::recv(fd, piece.data(), piece.size(), 0);
      if (got <= 0) throw std::runtime_error(fmt::format("subscriber {} was not answered", index));
      head.append(piece.data(), static_cast<std::size_t>(got));
    }
    if (!head.starts_with(options_.websocket ? "HTTP/1.1 101" : "HTTP/1.1 200")) {
      throw std::runtime_error(fmt::format("subscriber {} was refused: {}", index, head.substr(0, head.find('\r'))));
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = index;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  [[nodiscard]] bool due(base::Instant now) const {
    if (answered_ < published_) return false;
    return options_.rate <= 0 || now >= began_ + seconds(published_ / options_.rate);
  }

  void publish() {
    std::string data = fmt::format("~{:08}", published_);
    data.resize(options_.bytes, '.');
    sent_.push_back(base::now());
    ++published_;
    publisher_.send(data);
  }

  void read_answer() {
    if (!publisher_.receive()) return;
    ++answered_;
    if (published_ < options_.events && due(base::now())) publish();
  }

  void read_events(Subscriber& subscriber) {
    const ssize_t got = ::recv(subscriber.fd.get(), buffer_.data(), buffer_.size(), 0);
    if (got <= 0) fail("a subscriber's connection ended");
    const base::Instant now = base::now();
    subscriber.reader.feed({buffer_.data(), static_cast<std::size_t>(got)}, [this, now](std::uint32_t number) {
      ++delivered_;
      latencies_.add(now - sent_.at(number));
    });
    last_ = now;
  }

  void tell(std::uint64_t expected, double cpu) {
    std::uint64_t repeated = 0;
    for (const Subscriber& subscriber : subscribers_) repeated += subscriber.reader.repeated();
    const double took = std::chrono::duration<double>(last_ - began_).count();
    const auto delivered = static_cast<double>(delivered_);
    fmt::print(
        "{{\"subscribers\":{},\"events\":{},\"delivered\":{},\"lost\":{},\"repeated\":{},\"seconds\":{:.4f},"
        "\"per_second\":{:.0f},\"cpu_us\":{:.4f},\"p50_ms\":{:.3f},\"p99_ms\":{:.3f}}}\n",
        options_.subscribers, options_.events, delivered_, expected - delivered_, repeated, took,
        took > 0 ? delivered / took : 0, delivered_ > 0 ? cpu * 1e6 / delivered : 0, latencies_.percentile_ms(0.5),
        latencies_.percentile_ms(0.99));
  }

  const Options& options_;
  Endpoint at_;
  base::Fd epoll_;
  Publisher publisher_;
  std::vector<Subscriber> subscribers_;
  std::vector<base::Instant> sent_;
  Latencies latencies_;
  std::array<char, 256 * 1024> buffer_;
  base::Instant began_;
  base::Instant last_;
  unsigned published_ = 0;
  unsigned answered_ = 0;
  std::uint64_t delivered_ = 0;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Fan-out: deliveries a second, and how long they take");
  app.add_option("--subscribe", options.subscribe, "URL of a subscription")->required();
  app.add_option("--publish", options.publish, "URL of a publish, with {} for the data")->required();
  app.add_option("--body", options.body, "publish by POST; {} is the data");
  app.add_flag("--websocket", options.websocket, "subscribe by WebSocket instead of an event stream");
  app.add_option("--process", options.processes, "a process of the server, whose CPU time is counted");
  app.add_option("--subscribers", options.subscribers);
  app.add_option("--at-once", options.at_once, "subscriptions that are opened together")->check(CLI::PositiveNumber);
  app.add_option("--events", options.events);
  app.add_option("--bytes", options.bytes)->check(CLI::Range(9, 4000));
  app.add_option("--rate", options.rate, "publishes a second; 0: a burst");
  app.add_option("--patience", options.patience, "seconds without any delivery until it gives up what is missing");
  CLI11_PARSE(app, argc, argv);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  try {
    const auto fan_out = std::make_unique<FanOut>(options);
    fan_out->open();
    fan_out->run();
  } catch (const std::exception& failure) {
    fmt::print(stderr, "fanout: {}\n", failure.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace m0::bench

int main(int argc, char** argv) { return m0::bench::run(argc, argv); }
