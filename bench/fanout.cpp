// Opens many event streams, publishes, and counts what comes: one measurement as a line of JSON.
//
//   burst   publishes one after the other, each as soon as the one before was answered; then waits until every
//           subscriber has every event
//   paced   so many publishes a second; latency counts from when one was sent to when a subscriber read it
//
// An event's data is "~" and its number in eight digits, then dots up to --bytes: each "~" that arrives is a delivery.
// Subscribers come from 127.0.0.2 and up, 5,000 an address, so that ports suffice.

#include <CLI/CLI.hpp>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "m0/base/fd.hpp"

#include "latencies.hpp"

namespace m0::bench {
namespace {

struct Options {
  std::uint16_t port = 0;
  unsigned subscribers = 1000;
  unsigned events = 200;
  unsigned bytes = 100;
  double rate = 0;  // a second; 0: a burst
  double patience = 60;
  // What is asked; {} in the publisher's target is the data.
  std::string subscribe = "/hold?channel=a";
  std::string publish = "/publish?channel=a&data={}";
};

[[noreturn]] void fail(const char* what) { throw std::runtime_error(what); }

base::Fd connect_to(std::uint16_t port, unsigned from) {
  base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + from / 5000);
  const int one = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) fail("bind");
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(port);
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) fail("connect");
  return fd;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) fail("send");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string get(const std::string& target) { return "GET " + target + " HTTP/1.1\r\nHost: bench\r\n\r\n"; }

/// One subscriber's bytes: counts what arrives, and finds each event's number across the pieces.
struct Subscriber {
  base::Fd fd;
  std::uint32_t number = 0;
  std::uint8_t digits = 8;  // read of the number; 8: outside of one
};

class FanOut {
 public:
  explicit FanOut(const Options& options) : options_(options), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  void open() {
    subscribers_.resize(options_.subscribers);
    for (unsigned i = 0; i < options_.subscribers; ++i) {
      subscribers_[i].fd = connect_to(options_.port, i);
      const int fd = subscribers_[i].fd.get();
      send_all(fd, get(options_.subscribe));
      std::string head;
      while (head.find("\r\n\r\n") == std::string::npos) {
        std::array<char, 4096> piece;
        const ssize_t got = ::recv(fd, piece.data(), piece.size(), 0);
        if (got <= 0) fail("a subscriber was not answered");
        head.append(piece.data(), static_cast<std::size_t>(got));
      }
      if (!head.starts_with("HTTP/1.1 200")) fail("a subscriber was refused");
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u32 = i;
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
    }
    publisher_ = connect_to(options_.port, 0);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = kPublisher;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, publisher_.get(), &event);
  }

  void run() {
    const std::uint64_t expected = std::uint64_t{options_.subscribers} * options_.events;
    began_ = base::now();
    const base::Instant limit = began_ + seconds(options_.patience);
    publish();
    while (delivered_ < expected || answered_ < options_.events) {
      const base::Instant now = base::now();
      if (now > limit) break;
      if (published_ < options_.events && due(now)) publish();
      std::array<epoll_event, 64> events;  // few: the publisher's answer is not to wait behind many
      const int ready = ::epoll_wait(epoll_.get(), events.data(), events.size(), 1);
      for (int i = 0; i < ready; ++i) {
        const std::uint32_t who = events[static_cast<std::size_t>(i)].data.u32;
        who == kPublisher ? read_answer() : read_events(subscribers_[who]);
      }
    }
    const double took = std::chrono::duration<double>(last_ - began_).count();
    fmt::print(
        "{{\"subscribers\":{},\"events\":{},\"delivered\":{},\"expected\":{},\"seconds\":{:.4f},"
        "\"per_second\":{:.0f},\"p50_ms\":{:.2f},\"p99_ms\":{:.2f}}}\n",
        options_.subscribers, options_.events, delivered_, expected, took, static_cast<double>(delivered_) / took,
        latencies_.percentile_ms(0.5), latencies_.percentile_ms(0.99));
  }

 private:
  static constexpr std::uint32_t kPublisher = ~std::uint32_t{0};

  static base::Duration seconds(double count) {
    return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(count));
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
    send_all(publisher_.get(), get(fmt::format(fmt::runtime(options_.publish), data)));
  }

  void read_answer() {
    std::array<char, 4096> piece;
    const ssize_t got = ::recv(publisher_.get(), piece.data(), piece.size(), 0);
    if (got <= 0) fail("the publisher was not answered");
    if (!std::string_view(piece.data(), static_cast<std::size_t>(got)).starts_with("HTTP/1.1 200")) {
      fail("the publisher was refused");
    }
    ++answered_;
    if (published_ < options_.events && due(base::now())) publish();
  }

  void read_events(Subscriber& subscriber) {
    const ssize_t got = ::recv(subscriber.fd.get(), buffer_.data(), buffer_.size(), 0);
    if (got <= 0) fail("a subscriber's connection ended");
    const base::Instant now = base::now();
    std::string_view bytes(buffer_.data(), static_cast<std::size_t>(got));
    while (!bytes.empty()) {
      if (subscriber.digits == 8) {
        const std::size_t mark = bytes.find('~');
        if (mark == std::string_view::npos) break;
        bytes.remove_prefix(mark + 1);
        subscriber.digits = 0;
        subscriber.number = 0;
        continue;
      }
      subscriber.number = subscriber.number * 10 + static_cast<std::uint32_t>(bytes.front() - '0');
      bytes.remove_prefix(1);
      if (++subscriber.digits < 8) continue;
      ++delivered_;
      latencies_.add(now - sent_.at(subscriber.number));
    }
    last_ = now;
  }

  const Options& options_;
  base::Fd epoll_;
  base::Fd publisher_;
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
  CLI::App app("Event streams: deliveries a second, and how long they take");
  app.add_option("--port", options.port)->required();
  app.add_option("--subscribers", options.subscribers);
  app.add_option("--events", options.events);
  app.add_option("--bytes", options.bytes)->check(CLI::Range(9, 4000));
  app.add_option("--rate", options.rate, "publishes a second; 0: a burst");
  app.add_option("--patience", options.patience, "seconds until it gives up what is missing");
  app.add_option("--subscribe", options.subscribe, "target of a subscription");
  app.add_option("--publish", options.publish, "target of a publish, with {} for the data");
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
