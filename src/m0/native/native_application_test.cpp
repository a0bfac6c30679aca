#include "m0/native/native_application.hpp"

#include <stdexcept>

#include "m0/base/waker.hpp"
#include "m0/native/server.hpp"
#include "m0/pool/offload_pool.hpp"

namespace m0::native {
namespace {

using handler::Exchange;
using handler::Request;
using handler::Response;

/// What happened to the handlers, in order.
std::vector<std::string> g_life;
std::mutex g_life_mutex;

void note(std::string what) {
  const std::lock_guard lock(g_life_mutex);
  g_life.push_back(std::move(what));
}

std::vector<std::string> take_life() {
  const std::lock_guard lock(g_life_mutex);
  return std::exchange(g_life, {});
}

struct Steady {
  static Steady make(const pool::ThreadContext& context) {
    note("make " + std::string(context.lane) + " " + std::to_string(context.thread));
    return {std::this_thread::get_id()};
  }
  Response handle(const Request& request) {
    EXPECT_EQ(std::this_thread::get_id(), thread);
    if (request.path() == "/throw") throw std::runtime_error("as the test wants");
    if (request.path() == "/int") throw 7;
    if (request.path() == "/status") {
      Response response;
      response.head.status = 99;
      return response;
    }
    if (request.path() == "/window") {
      Response response;
      response.body.kind = handler::ResponseBody::Kind::Window;
      return response;
    }
    return Response::text("steady " + std::string(request.path()));
  }
  void shutdown() {
    EXPECT_EQ(std::this_thread::get_id(), thread);
    note("shutdown");
  }
  std::thread::id thread;
};

struct Unmakeable {
  static Unmakeable make(const pool::ThreadContext&) { throw std::runtime_error("the database is away"); }
  Response handle(const Request&) { return {}; }
  void shutdown() { note("shutdown of what was never made"); }
};

struct Loud {
  static Loud make(const pool::ThreadContext&) { return {}; }
  Response handle(const Request&) { return Response::text("loud"); }
  void shutdown() { throw std::runtime_error("and it ends loudly"); }
};

struct OnLoop {
  static OnLoop make(const handler::LoopContext& context) {
    note("loop of worker " + std::to_string(context.worker));
    return {};
  }
  Response handle(const Request&) {
    return Response::stream("text/plain", [](std::string&) { return handler::Produced::Last; });
  }
};

static_assert(handler::PoolHandler<Steady> && !handler::LoopHandler<Steady>);
static_assert(handler::LoopHandler<OnLoop> && !handler::PoolHandler<OnLoop>);
static_assert(!handler::PoolHandler<int>);

/// A pool of one lane around an application, with the test as its loop.
class Served {
 public:
  Served(NativeApplication& application, std::vector<std::uint16_t> targets, unsigned threads = 1) : pool_(waker_, 3) {
    pool::LaneConfig lane;
    lane.name = "lane";
    lane.threads = lane.max_threads = threads;
    lane.parallelism = application.parallelism();
    pool_.add_lane(lane, [&application, targets](handler::JobThread& thread) {
      const auto body = application.make_thread(thread.context(), targets);
      thread.ready();
      body->run(thread);
    });
    failure_ = pool_.start();
  }
  ~Served() {
    pool_.stop();
    EXPECT_TRUE(pool_.join_until(base::now() + std::chrono::seconds(20)));
  }

  Response ask(std::uint16_t target, std::string_view path) {
    Exchange exchange(budget_);
    exchange.request.method = "GET";
    exchange.request.path = path;
    exchange.target = target;
    exchange.submit();
    EXPECT_TRUE(pool_.submit(0, exchange));
    pool_.hand_over();
    bool back = false;
    const base::Instant end = base::now() + std::chrono::seconds(20);
    while (!back && base::now() < end) {
      pool_.tend(base::now());
      pool_.drain([&](Exchange& came) { back = came.take_notice().returned; });
    }
    EXPECT_TRUE(back);
    EXPECT_EQ(exchange.answered_by, handler::AnsweredBy::Pool);
    return std::move(exchange.response);
  }
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 private:
  base::Waker waker_;
  handler::BodyBudget budget_;
  pool::OffloadPool<Exchange> pool_;
  std::string failure_;
};

TEST(NativeApplication, EachThreadMakesItsOwnAndEndsIt) {
  take_life();
  NativeApplication application({pooled<Steady>{}.mounted()});
  {
    Served served(application, {0}, 3);
    EXPECT_EQ(served.failure(), "");
    EXPECT_EQ(served.ask(0, "/a").body.bytes, "steady /a");
  }
  const std::vector<std::string> life = take_life();
  EXPECT_THAT(life, ::testing::UnorderedElementsAre("make lane 0", "make lane 1", "make lane 2", "shutdown", "shutdown",
                                                    "shutdown"));
}

TEST(NativeApplication, AsksTheOneThatIsMounted) {
  NativeApplication application({pooled<Steady>{}.mounted(), looped<OnLoop>{}.mounted(), pooled<Loud>{}.mounted()});
  Served served(application, {0, 2});
  EXPECT_EQ(served.ask(2, "/").body.bytes, "loud");
  EXPECT_EQ(served.ask(0, "/").body.bytes, "steady /");
}

TEST(NativeApplication, WhatAHandlerThrowsEndsThatRequestAlone) {
  NativeApplication application({pooled<Steady>{}.mounted()});
  Served served(application, {0});
  for (const std::string_view path : {"/throw", "/int", "/status", "/window"}) {
    const Response response = served.ask(0, path);
    EXPECT_EQ(response.head.status, 500) << path;
    EXPECT_EQ(response.head.fields.find("Content-Type"), "application/problem+json");
    EXPECT_EQ(response.body.bytes.find("as the test wants"), std::string::npos) << "the client is not told why";
    EXPECT_EQ(served.ask(0, "/b").body.bytes, "steady /b");
  }
}

TEST(NativeApplication, AHandlerThatCannotBeMadeRefusesTheStart) {
  take_life();
  NativeApplication application({pooled<Steady>{}.mounted(), pooled<Unmakeable>{}.mounted()});
  {
    Served served(application, {0, 1});
    EXPECT_EQ(served.failure(), "the database is away");
  }
  EXPECT_EQ(take_life(), (std::vector<std::string>{"make lane 0", "shutdown"})) << "what was made is ended";
}

TEST(NativeApplication, ALoudShutdownEndsNothing) {
  NativeApplication application({pooled<Loud>{}.mounted(), pooled<Loud>{}.mounted()});
  Served served(application, {0, 1}, 2);
  EXPECT_EQ(served.ask(1, "/").body.bytes, "loud");
}

TEST(NativeApplication, AnswersOnTheLoop) {
  take_life();
  NativeApplication application({pooled<Steady>{}.mounted(), looped<OnLoop>{}.mounted()});
  const auto loop = application.make_loop(5);
  EXPECT_EQ(take_life(), std::vector<std::string>{"loop of worker 5"});
  handler::BodyBudget budget;
  Exchange exchange(budget);
  exchange.target = 1;
  loop->answer(exchange);
  EXPECT_EQ(exchange.response.body.kind, handler::ResponseBody::Kind::Stream);
}

}  // namespace
}  // namespace m0::native
