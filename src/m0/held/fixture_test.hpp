#pragma once
// A registry between a socket that takes what it is told to and views that the test plays.

#include <gtest/gtest.h>

#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "m0/held/registry.hpp"

namespace m0::held {

class Socket final : public Wire {
 public:
  pubsub::Taken write(std::string_view bytes) noexcept override {
    if (gone) return {0, true};
    const std::size_t took = std::min(room, bytes.size());
    got += bytes.substr(0, took);
    room -= took;
    return {took, false};
  }
  void end(Ending how) noexcept override {
    ++ends;
    ending = how;
  }
  void read_on() noexcept override { ++reads; }

  std::string got;
  std::size_t room = 1 << 30;
  int ends = 0;
  int reads = 0;
  Ending ending = Ending::Cut;
  bool gone = false;
};

/// The server's side: keeps what is posted until the test answers it.
class Office final : public handler::PostOffice {
 public:
  explicit Office(handler::BodyBudget& budget) : budget_(budget) {}

  bool has_room(std::string_view) override { return posted.size() < room; }
  handler::Exchange* take_exchange() override {
    all_.push_back(std::make_unique<handler::Exchange>(budget_));
    return all_.back().get();
  }
  handler::Submitted post(handler::Exchange& exchange) override {
    if (on_loop) {
      exchange.response.head.status = 204;
      ++answered;
      return handler::Submitted::Answered;
    }
    exchange.submit();
    EXPECT_TRUE(exchange.start());
    posted.push_back(&exchange);
    return handler::Submitted::Queued;
  }
  void give_back(handler::Exchange& exchange, std::uint64_t) override {
    statuses.push_back(exchange.response.head.status);
  }
  void discard(handler::Exchange&) override { ++discarded; }

  /// The oldest that was posted comes back with this answer.
  void answer(int status, std::string body = {},
              std::initializer_list<std::pair<std::string_view, std::string_view>> fields = {}) {
    ASSERT_FALSE(posted.empty());
    handler::Exchange& exchange = *posted.front();
    posted.pop_front();
    exchange.response.head.status = status;
    exchange.response.body.bytes = std::move(body);
    for (const auto& [name, value] : fields) exchange.response.head.fields.add(name, value);
    static_cast<void>(exchange.finish());
    exchange.owner->on_notice(exchange, exchange.take_notice());
  }
  /// The bodies of what is with the views.
  [[nodiscard]] std::vector<std::string> said() const {
    std::vector<std::string> bodies;
    for (const handler::Exchange* exchange : posted) {
      const std::string_view event = exchange->request.find("M0-Event");
      bodies.emplace_back(event == "message" ? exchange->body.memory() : event);
    }
    return bodies;
  }

  std::deque<handler::Exchange*> posted;
  std::vector<int> statuses;
  std::size_t room = 1 << 20;
  int discarded = 0;
  int answered = 0;
  bool on_loop = false;

 private:
  handler::BodyBudget& budget_;
  std::deque<std::unique_ptr<handler::Exchange>> all_;
};

class HeldTest : public ::testing::Test {
 protected:
  void SetUp() override { ask("GET", "/"); }

  void ask(std::string_view method, std::string_view target, std::vector<http::Field> fields = {}) {
    http::RequestHead head;
    head.method = method;
    head.target = target;
    head.authority = "example.com";
    head.path = target.substr(0, target.find('?'));
    if (target.find('?') != std::string_view::npos) head.query = target.substr(target.find('?') + 1);
    head.version = http::Version::Http10;  // blocks without chunks, for easy reading
    head.fields = std::move(fields);
    // The views are literals of the test.
    exchange_.request = head;
    exchange_.log_position = registry_.arrival();
    exchange_.connection_id = registry_.next_connection();
  }
  void answer(const std::vector<std::pair<std::string_view, std::string_view>>& fields, std::string body = {}) {
    exchange_.response.clear();
    for (const auto& [name, value] : fields) exchange_.response.head.fields.add(name, value);
    exchange_.response.body.bytes = std::move(body);
  }
  std::unique_ptr<Client> open(Socket& socket, handler::Hold hold = {}) {
    if (hold.channels.empty()) hold.channels = {"news"};
    exchange_.connection_id = registry_.next_connection();
    return registry_.open(socket, exchange_, {.hold = std::move(hold), .switching = {}}, "HEAD\n");
  }
  std::unique_ptr<Client> open_websocket(Socket& socket, handler::Hold hold = {}) {
    hold.kind = handler::Hold::Kind::WebSocket;
    return open(socket, std::move(hold));
  }
  std::string id(std::uint64_t seq) { return pubsub::to_text(pubsub::EventId{log_.epoch(), seq}); }
  std::uint64_t publish(std::string_view data, std::string_view channel = "news") {
    const auto seq = log_.try_append({.channel = channel, .data = data});
    EXPECT_TRUE(seq);
    return seq.value_or(0);
  }
  void tell(const pubsub::NewEvent& control) { EXPECT_TRUE(log_.try_append(control)); }
  void turns() {
    while (registry_.turn()) {
    }
  }

  pubsub::EventLog log_{{.size = pubsub::kMinLogSize}};
  Config config_{.keep_alive = std::chrono::seconds(20),
                 .drain_spread = std::chrono::seconds(4),
                 .retry_ms = 2000,
                 .max_message = 1000};
  handler::BodyBudget budget_{1 << 20, 1 << 20};
  Office office_{budget_};
  Registry registry_{log_, 0, config_, office_};
  handler::Exchange exchange_{budget_};
};

}  // namespace m0::held
