#pragma once
// A worker in this process with an application written in C++, and a client that speaks bytes. For *_test.cpp only.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "m0/base/fd.hpp"
#include "m0/handler/application.hpp"
#include "m0/net/listener.hpp"
#include "m0/server/worker.hpp"

namespace m0::server::testing {

inline constexpr auto kBound = std::chrono::seconds(20);

/// Waits until `condition` holds; false when it never did.
template <class Condition>
bool eventually(Condition&& condition) {
  const base::Instant end = base::now() + kBound;
  while (base::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

/// Answers each exchange with a function, on the pool's threads.
class TestApplication final : public handler::Application {
 public:
  using Handler = std::function<void(handler::JobThread&, handler::Exchange&)>;
  explicit TestApplication(Handler handler) : handler_(std::move(handler)) {}

  void load() override {}
  unsigned parallelism() const noexcept override { return 2; }
  void wait(int) override {}
  void unload() noexcept override {}
  std::string description() const override { return "test"; }
  void set_surroundings(const Surroundings&) noexcept override {}
  std::unique_ptr<handler::ThreadBody> make_thread(const pool::ThreadContext&,
                                                   std::span<const std::uint16_t>) override {
    if (fail_make) throw std::runtime_error("no thread today");
    return std::make_unique<Body>(*this);
  }

  std::atomic<unsigned> ran{0};      // exchanges that were started
  std::atomic<unsigned> skipped{0};  // exchanges whose client had left before
  bool fail_make = false;
  /// Answers on the loop, where something is mounted there.
  std::function<void(handler::Exchange&)> on_loop;

  std::unique_ptr<handler::LoopBody> make_loop(unsigned) override {
    if (!on_loop) return nullptr;
    return std::make_unique<OnLoop>(*this);
  }

 private:
  class OnLoop final : public handler::LoopBody {
   public:
    explicit OnLoop(TestApplication& application) : application_(application) {}
    void answer(handler::Exchange& exchange) noexcept override { application_.on_loop(exchange); }

   private:
    TestApplication& application_;
  };

  class Body final : public handler::ThreadBody {
   public:
    explicit Body(TestApplication& application) : application_(application) {}
    void run(handler::JobThread& thread) noexcept override {
      while (handler::Exchange* exchange = thread.take()) {
        do {
          exchange->began = thread.began();
          if (exchange->start()) {
            ++application_.ran;
            application_.handler_(thread, *exchange);
          } else {
            ++application_.skipped;
          }
          thread.complete(*exchange);
          exchange = thread.take_now();
        } while (exchange != nullptr);
      }
    }

   private:
    TestApplication& application_;
  };

  Handler handler_;
};

/// A listener on a free port and a worker behind it.
class RunningWorker {
 public:
  explicit RunningWorker(TestApplication::Handler handler, Config config = small())
      : RunningWorker(std::make_unique<TestApplication>(std::move(handler)), std::move(config)) {}
  explicit RunningWorker(std::unique_ptr<TestApplication> application, Config config = small())
      : config_(std::move(config)), application_(std::move(application)) {
    const std::array addresses{net::BindAddress{.host = "127.0.0.1", .port = 0, .path = {}}};
    auto opened = net::open_listeners(addresses, {});
    if (!opened) throw std::runtime_error(opened.error());
    listeners_ = std::move(*opened);
    port_ = listeners_.front().address().port;
    pointers_.push_back(&listeners_.front());
    worker_ = std::make_unique<Worker>(config_, *application_, pointers_, Worker::Place{0, {&load_, 1}}, [] {});
    worker_->start();
    EXPECT_TRUE(eventually([&] { return worker_->state() != Worker::State::Starting; }));
  }
  ~RunningWorker() {
    worker_->stop();
    worker_->abort();
    worker_->join();
  }

  static Config small() {
    Config config;
    config.lane.threads = 2;
    config.lane.max_threads = 2;
    config.timeouts.graceful = std::chrono::seconds(10);
    return config;
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] Worker& worker() noexcept { return *worker_; }
  [[nodiscard]] TestApplication& application() noexcept { return *application_; }
  [[nodiscard]] unsigned connections() const noexcept { return load_.connections.load(); }

 private:
  Config config_;
  std::unique_ptr<TestApplication> application_;
  std::vector<net::Listener> listeners_;
  std::vector<net::Listener*> pointers_;
  WorkerLoad load_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Worker> worker_;
};

/// A blocking client with a bound on every read.
class Client {
 public:
  explicit Client(std::uint16_t port, int receive_buffer = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
      throw std::runtime_error("connect failed");
    }
  }

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void end() const { ::shutdown(socket_.get(), SHUT_WR); }
  void reset() {
    const linger hard{1, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    socket_.reset();
  }
  void close() { socket_.reset(); }

  /// What comes within the bound: until `done(all)` or the end. `ended()` tells which.
  std::string read_until(const std::function<bool(const std::string&)>& done) {
    std::array<char, 65536> buffer{};
    const base::Instant end = base::now() + kBound;
    while (!done(seen_) && base::now() < end) {
      pollfd ready{socket_.get(), POLLIN, 0};
      if (::poll(&ready, 1, 100) <= 0) continue;
      const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) {
        ended_ = true;
        reset_ = got < 0;
        break;
      }
      seen_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    std::string all;
    all.swap(seen_);
    return all;
  }
  std::string read_to_end() {
    return read_until([](const std::string&) { return false; });
  }
  /// One answer with a Content-Length.
  std::string read_answer() {
    return read_until([](const std::string& all) {
      const auto head = all.find("\r\n\r\n");
      if (head == std::string::npos) return false;
      const auto at = all.find("Content-Length: ");
      if (at == std::string::npos || at > head) return true;
      return all.size() >= head + 4 + std::stoul(all.substr(at + 16));
    });
  }
  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] bool was_reset() const noexcept { return reset_; }

 private:
  base::Fd socket_;
  std::string seen_;
  bool ended_ = false;
  bool reset_ = false;
};

inline void answer_text(handler::Exchange& exchange, std::string_view text) {
  exchange.response.head.status = 200;
  exchange.response.head.fields.add("Content-Type", "text/plain");
  exchange.response.body.bytes = text;
}

inline unsigned count(std::string_view all, std::string_view what) {
  unsigned found = 0;
  for (auto at = all.find(what); at != std::string_view::npos; at = all.find(what, at + what.size())) ++found;
  return found;
}

}  // namespace m0::server::testing
