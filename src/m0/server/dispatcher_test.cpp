#include "m0/server/dispatcher.hpp"

#include "m0/base/metric.hpp"
#include "m0/server/gate_test.hpp"
#include "m0/server/worker_fixture_test.hpp"

namespace m0::server::testing {
namespace {

std::string get(std::string_view path) { return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n"; }

/// Says on which lane and thread it ran, for which target, and what the mount left of the path.
void describe(handler::JobThread& thread, handler::Exchange& exchange) {
  answer_text(exchange, std::string(thread.context().lane) + " " + std::to_string(exchange.target) + " " +
                            std::string(exchange.request.path.substr(exchange.mount_length)) + ";");
}

pool::LaneConfig lane(std::string name, unsigned threads) {
  pool::LaneConfig config;
  config.name = std::move(name);
  config.threads = config.max_threads = threads;
  return config;
}

/// The same, but /slow first waits at a gate.
TestApplication::Handler slow_waits_at(Gate& gate) {
  return [&gate](handler::JobThread& thread, handler::Exchange& exchange) {
    if (exchange.request.path == "/slow") gate.wait();
    describe(thread, exchange);
  };
}

TEST(Dispatcher, SendsEachPrefixToItsTargetAndLane) {
  Config config = RunningWorker::small();
  config.mounts = {{"", 0, false, {}}, {"/shop", 1, false, lane("/shop", 1)}};
  config.lanes = {{"/reports", lane("/reports", 1)}};
  RunningWorker running(describe, config);
  Client client(running.port());
  const auto ask = [&](std::string_view path) {
    client.send(get(path));
    const std::string answer = client.read_answer();
    return answer.substr(answer.find("\r\n\r\n") + 4);
  };
  EXPECT_EQ(ask("/x"), "default 0 /x;");
  EXPECT_EQ(ask("/shop/cart"), "/shop 1 /cart;");
  EXPECT_EQ(ask("/%73hop/cart"), "/shop 1 /cart;");
  EXPECT_EQ(ask("/shop"), "/shop 1 ;");
  EXPECT_EQ(ask("/reports/1"), "/reports 0 /reports/1;");
  EXPECT_EQ(ask("/reporting"), "default 0 /reporting;");
}

TEST(Dispatcher, WhatIsMountedNowhereIsA404) {
  Config config = RunningWorker::small();
  config.mounts = {{"/shop", 0, false, {}}};
  RunningWorker running(describe, config);
  Client client(running.port());
  client.send(get("/elsewhere"));
  const std::string answer = client.read_answer();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 404 ")) << answer;
  EXPECT_NE(answer.find("application/problem+json"), std::string::npos);
  EXPECT_EQ(running.application().ran, 0U);
  client.send(get("/shop/"));
  EXPECT_TRUE(client.read_answer().ends_with("default 0 /;"));
}

TEST(Dispatcher, ASaturatedLaneChangesNothingForAnother) {
  Config config = RunningWorker::small();
  pool::LaneConfig slow = lane("/slow", 1);
  slow.queue = 2;
  config.lanes = {{"/slow", slow}};
  Gate gate;
  RunningWorker running(slow_waits_at(gate), config);
  std::vector<std::unique_ptr<Client>> blockers;
  unsigned refused = 0;
  for (int i = 0; i < 6; ++i) {
    blockers.push_back(std::make_unique<Client>(running.port()));
    blockers.back()->send(get("/slow"));
    if (i == 0) {
      ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    }
  }
  // One runs and two wait: the other three are refused, and say when to come again.
  for (auto& blocker : blockers) {
    pollfd ready{blocker->fd(), POLLIN, 0};
    if (::poll(&ready, 1, 200) != 1) continue;
    const std::string answer = blocker->read_answer();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
    EXPECT_EQ(count(answer, "Retry-After: 1\r\n"), 1U);
    ++refused;
  }
  EXPECT_EQ(refused, 3U);
  Client other(running.port());
  for (int i = 0; i < 50; ++i) {
    other.send(get("/fast"));
    ASSERT_TRUE(other.read_answer().ends_with("default 0 /fast;"));
  }
  gate.open();
}

TEST(Dispatcher, ALaneWithoutAFreeThreadIsTold) {
  Config config = RunningWorker::small();
  config.lane = lane("default", 1);
  Gate gate;
  RunningWorker running(
      [&](handler::JobThread& thread, handler::Exchange& exchange) {
        gate.wait();
        describe(thread, exchange);
      },
      config);
  const auto told = [] {
    for (const std::string& line : base::metric::nonzero_lines(base::metric::slab())) {
      if (line.starts_with("m0_stuck_lanes_total ")) return std::stoul(line.substr(line.find(' ')));
    }
    return 0UL;
  };
  const unsigned long before = told();
  Client first(running.port());
  first.send(get("/"));
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  // One that runs for long is nobody's trouble while nobody waits for its thread.
  Client second(running.port());
  EXPECT_EQ(told(), before);
  second.send(get("/"));
  EXPECT_TRUE(eventually([&] { return told() == before + 1; }));
  gate.open();
  EXPECT_TRUE(first.read_answer().ends_with("default 0 /;"));
  EXPECT_TRUE(second.read_answer().ends_with("default 0 /;"));
}

TEST(Dispatcher, ARequestThatWaitsTooLongIsGivenUp) {
  Config config = RunningWorker::small();
  config.lane = lane("default", 1);
  config.lane.queue_timeout = std::chrono::milliseconds(50);
  Gate gate;
  RunningWorker running(slow_waits_at(gate), config);
  Client slow(running.port());
  slow.send(get("/slow"));
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  Client late(running.port());
  late.send("HEAD /late HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string answer = late.read_until([](const std::string& all) { return all.ends_with("\r\n\r\n"); });
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_EQ(count(answer, "Retry-After: 1\r\n"), 1U);
  // The one that runs is not given up, however long it takes; the connection of the other goes on.
  gate.open();
  EXPECT_TRUE(slow.read_answer().ends_with("default 0 /slow;"));
  late.send(get("/again"));
  EXPECT_TRUE(late.read_answer().ends_with("default 0 /again;"));
  EXPECT_EQ(running.application().ran, 2U);
  EXPECT_EQ(running.application().skipped, 1U);
}

/// An application whose target 1 answers on the loop.
std::unique_ptr<TestApplication> with_loop(std::function<void(handler::Exchange&)> on_loop) {
  auto application = std::make_unique<TestApplication>(describe);
  application->on_loop = std::move(on_loop);
  return application;
}

Config loop_config() {
  Config config = RunningWorker::small();
  config.mounts = {{"", 0, false, {}}, {"/loop", 1, true, {}}};
  return config;
}

TEST(Dispatcher, TheLoopAnswersWhatIsMountedOnIt) {
  std::atomic<std::thread::id> seen{};
  RunningWorker running(with_loop([&](handler::Exchange& exchange) {
                          seen = std::this_thread::get_id();
                          answer_text(exchange, "loop " + std::string(exchange.request.path) + ";");
                        }),
                        loop_config());
  Client client(running.port());
  client.send(get("/loop/a") + get("/pool") + get("/loop/b") + get("/loop/c"));
  const std::string all = client.read_until([](const std::string& so_far) { return count(so_far, ";") == 4; });
  EXPECT_LT(all.find("loop /loop/a;"), all.find("default 0 /pool;")) << all;
  EXPECT_LT(all.find("default 0 /pool;"), all.find("loop /loop/b;"));
  EXPECT_LT(all.find("loop /loop/b;"), all.find("loop /loop/c;"));
  EXPECT_EQ(running.application().ran, 1U);
  EXPECT_NE(seen.load(), std::this_thread::get_id());
}

TEST(Dispatcher, TheLoopDrainsAStream) {
  RunningWorker running(with_loop([](handler::Exchange& exchange) {
                          exchange.response.body.kind = handler::ResponseBody::Kind::Stream;
                          exchange.response.body.producer = [left = 300](std::string& out) mutable {
                            out.assign(10'000, 'p');
                            return --left == 0 ? handler::Produced::Last : handler::Produced::More;
                          };
                        }),
                        loop_config());
  Client client(running.port());
  for (int i = 0; i < 2; ++i) {
    client.send(get("/loop"));
    const std::string all =
        client.read_until([](const std::string& so_far) { return so_far.ends_with("\r\n0\r\n\r\n"); });
    EXPECT_EQ(count(all, "Transfer-Encoding: chunked"), 1U);
    EXPECT_EQ(count(all, "pppppppppp"), 300'000U);
  }
  client.send("GET /loop HTTP/1.0\r\n\r\n");
  EXPECT_EQ(count(client.read_to_end(), "pppppppppp"), 300'000U);
}

TEST(Dispatcher, AStreamNeverFillsTheMemoryForAClientThatDoesNotRead) {
  std::atomic<std::uint64_t> made{0};
  std::atomic<bool> gone{false};
  struct Tell {
    std::atomic<bool>* flag;
    ~Tell() { *flag = true; }
  };
  RunningWorker running(with_loop([&](handler::Exchange& exchange) {
                          exchange.response.body.kind = handler::ResponseBody::Kind::Stream;
                          exchange.response.body.producer = [&,
                                                             tell = std::make_unique<Tell>(&gone)](std::string& out) {
                            out.assign(100'000, 'p');
                            made += out.size();
                            return handler::Produced::More;
                          };
                        }),
                        loop_config());
  Client client(running.port(), 4096);
  client.send(get("/loop"));
  // It stops growing once the socket is full: others are served meanwhile.
  std::uint64_t before = 0;
  ASSERT_TRUE(eventually([&] {
    const std::uint64_t now = made;
    const bool still = now > 0 && now == before;
    before = now;
    return still;
  }));
  Client other(running.port());
  other.send(get("/x"));
  EXPECT_TRUE(other.read_answer().ends_with("default 0 /x;"));
  EXPECT_LT(made.load(), 32U << 20U);
  client.reset();
  EXPECT_TRUE(eventually([&] { return gone.load(); }));
}

TEST(Dispatcher, AProducerThatFailsEndsTheConnectionWithoutALastChunk) {
  const std::vector<handler::Producer (*)()> broken{
      [] { return handler::Producer([](std::string&) -> handler::Produced { throw std::runtime_error("no more"); }); },
      [] { return handler::Producer([](std::string&) { return handler::Produced::More; }); },
      [] { return handler::Producer([](std::string&) -> handler::Produced { throw 7; }); }};
  std::atomic<std::size_t> which{0};
  RunningWorker running(with_loop([&](handler::Exchange& exchange) {
                          exchange.response.body.kind = handler::ResponseBody::Kind::Stream;
                          exchange.response.body.producer = [made = false,
                                                             next = broken[which]()](std::string& out) mutable {
                            if (made) return next(out);
                            made = true;
                            out = "first piece";
                            return handler::Produced::More;
                          };
                        }),
                        loop_config());
  for (which = 0; which < broken.size(); ++which) {
    Client client(running.port());
    client.send(get("/loop"));
    const std::string all = client.read_to_end();
    EXPECT_EQ(count(all, "first piece"), 1U);
    EXPECT_EQ(count(all, "\r\n0\r\n"), 0U);
    EXPECT_FALSE(client.was_reset());
    Client old(running.port());
    old.send("GET /loop HTTP/1.0\r\n\r\n");
    old.read_to_end();
    EXPECT_TRUE(old.was_reset()) << "an orderly end would pass for the whole body";
  }
}

TEST(Dispatcher, HeadOfAStreamRunsNoProducer) {
  std::atomic<unsigned> produced{0};
  RunningWorker running(with_loop([&](handler::Exchange& exchange) {
                          exchange.response.body.kind = handler::ResponseBody::Kind::Stream;
                          exchange.response.body.producer = [&](std::string& out) {
                            ++produced;
                            out = "x";
                            return handler::Produced::Last;
                          };
                        }),
                        loop_config());
  Client client(running.port());
  client.send("HEAD /loop HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(
      client.read_until([](const std::string& all) { return all.ends_with("\r\n\r\n"); }).starts_with("HTTP/1.1 200"));
  EXPECT_EQ(produced, 0U);
}

TEST(Dispatcher, AStreamFromAPoolThreadIsA409) {
  RunningWorker running([](handler::JobThread&, handler::Exchange& exchange) {
    exchange.response.body.kind = handler::ResponseBody::Kind::Stream;
    exchange.response.body.producer = [](std::string& out) {
      out = "never";
      return handler::Produced::Last;
    };
  });
  Client client(running.port());
  client.send(get("/"));
  const std::string answer = client.read_answer();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 409 Conflict\r\n")) << answer;
  EXPECT_NE(answer.find("LoopHandler"), std::string::npos);
  EXPECT_EQ(answer.find("never"), std::string::npos);
  client.send(get("/"));
  EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 409"));
}

TEST(Dispatcher, ALoopBodyThatCannotBeBuiltRefusesTheStart) {
  class Refusing final : public handler::Application {
   public:
    void load() override {}
    unsigned parallelism() const noexcept override { return 1; }
    void wait(int) override {}
    void unload() noexcept override {}
    std::string description() const override { return "refusing"; }
    void set_surroundings(const Surroundings&) noexcept override {}
    std::unique_ptr<handler::ThreadBody> make_thread(const pool::ThreadContext&,
                                                     std::span<const std::uint16_t>) override {
      ADD_FAILURE() << "no thread is wanted";
      return nullptr;
    }
    std::unique_ptr<handler::LoopBody> make_loop(unsigned worker) override {
      throw std::runtime_error("no loop handler for worker " + std::to_string(worker));
    }
  };
  Refusing application;
  const Config config = RunningWorker::small();
  WorkerLoad load;
  Worker worker(config, application, {}, Worker::Place{0, {&load, 1}}, [] {});
  worker.start();
  EXPECT_TRUE(eventually([&] { return worker.state() == Worker::State::Ended; }));
  worker.join();
  EXPECT_EQ(worker.failure(), "no loop handler for worker 0");
}

}  // namespace
}  // namespace m0::server::testing
