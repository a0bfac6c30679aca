#include "m0/server/worker.hpp"

#include <fcntl.h>

#include "m0/base/parker.hpp"
#include "m0/server/gate_test.hpp"
#include "m0/server/worker_fixture_test.hpp"

namespace m0::server::testing {
namespace {

void hello(handler::JobThread&, handler::Exchange& exchange) { answer_text(exchange, "hello\n"); }

TEST(Worker, AnswersARequest) {
  RunningWorker running(hello);
  Client client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string answer = client.read_answer();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\nhello\n")) << answer;
  EXPECT_EQ(count(answer, "Date: "), 1U);
  EXPECT_EQ(count(answer, "Server: "), 1U);
}

TEST(Worker, KeepsAConnection) {
  RunningWorker running(hello);
  Client client(running.port());
  for (int i = 0; i < 50; ++i) {
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(client.read_answer().ends_with("hello\n"));
  }
  EXPECT_EQ(running.application().ran, 50U);
}

TEST(Worker, AnswersPipelinedRequestsInOrder) {
  RunningWorker running([](handler::JobThread&, handler::Exchange& exchange) {
    answer_text(exchange, std::string(exchange.request.path) + ";");
  });
  Client client(running.port());
  std::string requests;
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
    expected += "/" + std::to_string(i) + ";";
  }
  client.send(requests);
  const std::string all = client.read_until([](const std::string& seen) { return count(seen, ";") == 40; });
  std::string got;
  for (auto at = all.find("\r\n\r\n"); at != std::string::npos; at = all.find("\r\n\r\n", at + 4)) {
    got += all.substr(at + 4, all.find(';', at) - at - 3);
  }
  EXPECT_EQ(got, expected);
}

TEST(Worker, AnswersAHalfClosedClient) {
  Gate gate;
  RunningWorker running([&](handler::JobThread&, handler::Exchange& exchange) {
    gate.wait();
    answer_text(exchange, exchange.client_left() ? "left\n" : "here\n");
  });
  Client client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  client.end();
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  // The end may arrive after the handler began; it is seen before long.
  std::this_thread::yield();
  gate.open();
  const std::string answer = client.read_to_end();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
}

TEST(Worker, AnswersPipelinedRequestsOfAHalfClosedClient) {
  RunningWorker running(hello);
  Client client(running.port());
  client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n");
  client.end();
  EXPECT_EQ(count(client.read_to_end(), "HTTP/1.1 200 OK"), 3U);
  EXPECT_TRUE(client.ended());
}

TEST(Worker, RefusesABadRequestAndCloses) {
  RunningWorker running(hello);
  Client client(running.port());
  client.send("GET / HTTP/1.1\nHost: a\n\n");
  const std::string answer = client.read_to_end();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_EQ(count(answer, "Connection: close"), 1U);
  EXPECT_TRUE(client.ended());
  EXPECT_FALSE(client.was_reset());
  EXPECT_EQ(running.application().ran, 0U);
}

TEST(Worker, GathersABodyBeforeAThreadIsTaken) {
  RunningWorker running([](handler::JobThread&, handler::Exchange& exchange) {
    answer_text(exchange, std::to_string(exchange.body.size()) + (exchange.body.in_memory() ? "m" : "f"));
  });
  Client client(running.port());
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
  client.send("12");
  EXPECT_EQ(running.application().ran, 0U);
  client.send("345");
  EXPECT_TRUE(client.read_answer().ends_with("\r\n\r\n5m"));
  const std::string large(300'000, 'x');
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n" + large);
  EXPECT_TRUE(client.read_answer().ends_with("\r\n\r\n300000f"));
}

TEST(Worker, RefusesABodyThatIsTooLargeWhileTheClientStillSends) {
  Config config = RunningWorker::small();
  config.limits.max_body = 1000;
  RunningWorker running(hello, config);
  Client client(running.port());
  const std::string body(3'000'000, 'x');
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n" + body);
  const std::string answer = client.read_to_end();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer;
  EXPECT_FALSE(client.was_reset());
}

TEST(Worker, RefusesABodyBeyondWhatAllMayTakeTogether) {
  Config config = RunningWorker::small();
  config.body_memory = 1000;
  config.body_disk = 1000;
  RunningWorker running(hello, config);
  Client client(running.port());
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n" + std::string(3000, 'x'));
  const std::string answer = client.read_answer();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_EQ(count(answer, "Retry-After: "), 1U);
  EXPECT_EQ(running.application().ran, 0U);
}

TEST(Worker, SaysContinueOnlyWhenTheBodyIsNeeded) {
  RunningWorker running(hello);
  Client client(running.port());
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until([](const std::string& all) { return all.ends_with("\r\n\r\n"); }),
            "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("12345");
  EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 200"));
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n12345");
  EXPECT_TRUE(client.read_answer().starts_with("HTTP/1.1 200"));
}

Config one_thread_and_one_place() {
  Config config = RunningWorker::small();
  config.lane.threads = config.lane.max_threads = 1;
  config.lane.queue = 1;
  return config;
}

TestApplication::Handler done_behind(Gate& gate) {
  return [&gate](handler::JobThread&, handler::Exchange& exchange) {
    gate.wait();
    answer_text(exchange, "done\n");
  };
}

TEST(Worker, AnswersAFullQueueWith503AndKeepsTheConnection) {
  Gate gate;
  RunningWorker running(done_behind(gate), one_thread_and_one_place());
  Client first(running.port());
  Client second(running.port());
  Client third(running.port());
  first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  second.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  // One of the two is queued and the other refused; which comes first is not ours to say. Only the refused one gets an
  // answer while the gate is shut.
  third.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto readable = [](const Client& client) {
    pollfd ready{client.fd(), POLLIN, 0};
    return ::poll(&ready, 1, 0) == 1;
  };
  ASSERT_TRUE(eventually([&] { return readable(second) || readable(third); }));
  gate.open();
  const std::string a = second.read_answer();
  const std::string b = third.read_answer();
  EXPECT_EQ(count(a + b, "HTTP/1.1 503"), 1U);
  EXPECT_EQ(count(a + b, "Retry-After: "), 1U);
  EXPECT_EQ(count(a + b, "HTTP/1.1 200"), 1U);
  EXPECT_EQ(count(a + b, "Connection: close"), 0U);
}

TEST(Worker, RefusesPipelinedRequestsOneByOne) {
  Gate gate;
  RunningWorker running(done_behind(gate), one_thread_and_one_place());
  Client first(running.port());
  first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  Client second(running.port());
  second.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return running.worker().waiting() == 1; }));
  // All in one piece: a refused request must not take those behind it along.
  Client third(running.port());
  std::string requests;
  for (int i = 0; i < 40; ++i) requests += "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  third.send(requests);
  const auto answers = [](const std::string& all) { return count(all, "503 Service Unavailable\n") == 40; };
  const std::string all = third.read_until(answers);
  EXPECT_EQ(count(all, "HTTP/1.1 503"), 40U) << all;
  gate.open();
  EXPECT_TRUE(first.read_answer().ends_with("done\n"));
  EXPECT_TRUE(second.read_answer().ends_with("done\n"));
}

TEST(Worker, DoesNotRunAQueuedRequestWhoseClientIsGone) {
  Config config = RunningWorker::small();
  config.lane.threads = config.lane.max_threads = 1;
  Gate gate;
  RunningWorker running(
      [&](handler::JobThread&, handler::Exchange& exchange) {
        gate.wait();
        answer_text(exchange, "done\n");
      },
      config);
  Client first(running.port());
  first.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  {
    Client second(running.port());
    second.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return running.connections() == 2; }));
    // Its request has been read once the loop has answered a later one of another connection.
    Client bad(running.port());
    bad.send("bad\n");
    bad.read_to_end();
    second.reset();
  }
  ASSERT_TRUE(eventually([&] { return running.connections() == 1; }));
  gate.open();
  EXPECT_TRUE(first.read_answer().ends_with("done\n"));
  ASSERT_TRUE(eventually([&] { return running.application().skipped == 1; }));
  EXPECT_EQ(running.application().ran, 1U);
}

void stream_lines(handler::JobThread& thread, handler::Exchange& exchange, int lines, std::size_t size) {
  exchange.response.head.status = 200;
  exchange.response.body.kind = handler::ResponseBody::Kind::Window;
  exchange.window = std::make_unique<handler::BodyWindow>();
  if (!exchange.start_streaming()) return;
  thread.notify(exchange);
  for (int i = 0; i < lines; ++i) {
    std::string line(size, static_cast<char>('a' + i % 26));
    std::string_view rest = line;
    while (!rest.empty()) {
      const std::size_t wrote = exchange.window->try_write(rest);
      rest.remove_prefix(wrote);
      thread.notify(exchange);
      if (rest.empty()) break;
      if (exchange.window->closed()) return;
      exchange.window->wait_for_room();
    }
  }
}

TEST(Worker, ALateAnswerNeverReachesTheNextClient) {
  // The next client has the place of the one that left, and waits for an answer of its own.
  Gate late;
  Gate next;
  RunningWorker running([&](handler::JobThread&, handler::Exchange& exchange) {
    const bool is_late = exchange.request.path == "/late";
    (is_late ? late : next).wait();
    answer_text(exchange, is_late ? "late\n" : "next\n");
  });
  {
    Client gone(running.port());
    gone.send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return late.waiting() == 1; }));
    gone.reset();
  }
  ASSERT_TRUE(eventually([&] { return running.connections() == 0; }));
  Client client(running.port());
  client.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return next.waiting() == 1; }));
  late.open();
  // Its answer has come back before this one is begun: the same list carries both, in their order.
  ASSERT_TRUE(eventually([&] { return running.worker().with_pool() == 1; }));
  next.open();
  const std::string answer = client.read_answer();
  EXPECT_TRUE(answer.ends_with("\r\n\r\nnext\n")) << answer;
  client.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(client.read_answer().ends_with("\r\n\r\nnext\n"));
}

TEST(Worker, StreamsAnAnswerOfUnknownLength) {
  RunningWorker running(
      [](handler::JobThread& thread, handler::Exchange& exchange) { stream_lines(thread, exchange, 200, 5000); });
  Client client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string all = client.read_until([](const std::string& seen) { return seen.ends_with("\r\n0\r\n\r\n"); });
  EXPECT_EQ(count(all, "Transfer-Encoding: chunked"), 1U);
  std::size_t body = 0;
  for (auto at = all.find("\r\n\r\n") + 4; at < all.size();) {
    const std::size_t size = std::stoul(all.substr(at), nullptr, 16);
    body += size;
    at = all.find("\r\n", at) + 2 + size + 2;
  }
  EXPECT_EQ(body, 1'000'000U);
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(client.read_until([](const std::string& seen) { return seen.ends_with("\r\n0\r\n\r\n"); })
                  .starts_with("HTTP/1.1 200"));
}

TEST(Worker, DelimitsAStreamByCloseOnHttp10) {
  RunningWorker running(
      [](handler::JobThread& thread, handler::Exchange& exchange) { stream_lines(thread, exchange, 10, 1000); });
  Client client(running.port());
  client.send("GET / HTTP/1.0\r\n\r\n");
  const std::string all = client.read_to_end();
  EXPECT_EQ(count(all, "Transfer-Encoding"), 0U);
  EXPECT_EQ(all.size() - all.find("\r\n\r\n") - 4, 10'000U);
}

TEST(Worker, SendsNoBodyToHeadThoughTheApplicationStreams) {
  RunningWorker running([](handler::JobThread& thread, handler::Exchange& exchange) {
    if (exchange.request.method == "HEAD")
      stream_lines(thread, exchange, 1'000'000, 1000);
    else
      answer_text(exchange, "hello\n");
  });
  Client client(running.port());
  client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string all = client.read_until([](const std::string& seen) { return seen.ends_with("hello\n"); });
  EXPECT_EQ(count(all, "aaaa"), 0U);
  EXPECT_EQ(count(all, "HTTP/1.1 200 OK"), 2U);
}

TEST(Worker, EndsAStreamWhoseClientVanished) {
  std::atomic<bool> ended{false};
  RunningWorker running([&](handler::JobThread& thread, handler::Exchange& exchange) {
    stream_lines(thread, exchange, 1'000'000'000, 1000);
    ended = true;
  });
  {
    Client client(running.port());
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_until([](const std::string& seen) { return seen.size() > 100'000; });
    client.reset();
  }
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
  EXPECT_TRUE(eventually([&] { return running.connections() == 0; }));
}

TEST(Worker, EndsASilentStreamWhoseClientHasEnded) {
  std::atomic<bool> ended{false};
  Config config = RunningWorker::small();
  config.timeouts.silence = std::chrono::milliseconds(100);
  RunningWorker running(
      [&](handler::JobThread& thread, handler::Exchange& exchange) {
        stream_lines(thread, exchange, 1, 10);
        while (!exchange.abandoned()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ended = true;
      },
      config);
  Client client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  client.read_until([](const std::string& seen) { return seen.find("aaaa") != std::string::npos; });
  client.end();
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

TEST(Worker, CutsAnAbortedStreamWithoutALastChunk) {
  RunningWorker running([](handler::JobThread& thread, handler::Exchange& exchange) {
    stream_lines(thread, exchange, 3, 100);
    exchange.aborted = true;
  });
  Client client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string all = client.read_to_end();
  EXPECT_EQ(count(all, "0\r\n\r\n"), 0U);
  EXPECT_EQ(count(all, "cccc"), 25U) << all;
}

TEST(Worker, ACutAnswerArrivesThoughTheClientHasSentMore) {
  // Unread input turns a close into a reset, and a reset takes with it what the client has not read yet.
  Gate gate;
  RunningWorker running([&](handler::JobThread& thread, handler::Exchange& exchange) {
    gate.wait();
    stream_lines(thread, exchange, 3, 100);
    exchange.aborted = true;
  });
  Client client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  gate.open();
  const std::string all = client.read_to_end();
  EXPECT_EQ(count(all, "cccc"), 25U) << all;
  EXPECT_FALSE(client.was_reset());
  client.close();
  EXPECT_TRUE(eventually([&] { return running.connections() == 0; }));
}

TEST(Worker, AnAbortedStreamToHttp10EndsInAReset) {
  RunningWorker running([](handler::JobThread& thread, handler::Exchange& exchange) {
    stream_lines(thread, exchange, 3, 100);
    exchange.aborted = true;
  });
  Client client(running.port());
  client.send("GET / HTTP/1.0\r\n\r\n");
  client.read_to_end();
  EXPECT_TRUE(client.was_reset());
}

TEST(Worker, SendsAFile) {
  char name[] = "/tmp/m0-worker-test-XXXXXX";
  const base::Fd file(::mkstemp(name));
  ::unlink(name);
  const std::string content(1'000'000, 'f');
  ASSERT_EQ(::write(file.get(), content.data(), content.size()), 1'000'000);
  RunningWorker running([&](handler::JobThread&, handler::Exchange& exchange) {
    exchange.response.body.kind = handler::ResponseBody::Kind::File;
    exchange.response.body.file = base::Fd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
    exchange.response.body.file_offset = 10;
    exchange.response.body.file_length = 999'990;
  });
  Client client(running.port());
  for (int i = 0; i < 3; ++i) {
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const std::string answer = client.read_answer();
    EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, 999'990U);
  }
}

TEST(Worker, ClosesWhatSendsTooSlowly) {
  Config config = RunningWorker::small();
  config.timeouts.head = config.timeouts.body = config.timeouts.idle = std::chrono::milliseconds(100);
  RunningWorker running(hello, config);
  Client head(running.port());
  Client body(running.port());
  Client idle(running.port());
  head.send("GET / HT");
  body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123");
  EXPECT_TRUE(head.read_to_end().starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(body.read_to_end().starts_with("HTTP/1.1 408 "));
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_TRUE(idle.ended());
  EXPECT_TRUE(eventually([&] { return running.connections() == 0; }));
}

TEST(Worker, ClosesAClientThatTakesNothing) {
  Config config = RunningWorker::small();
  config.timeouts.write = std::chrono::milliseconds(200);
  RunningWorker running(
      [](handler::JobThread&, handler::Exchange& exchange) { answer_text(exchange, std::string(64'000'000, 'x')); },
      config);
  Client client(running.port(), 4096);
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return running.connections() == 1; }));
  EXPECT_TRUE(eventually([&] { return running.connections() == 0; }));
}

TEST(Worker, RestsAtItsGreatestNumberOfConnections) {
  Config config = RunningWorker::small();
  config.max_connections = 2;
  RunningWorker running(hello, config);
  Client first(running.port());
  Client second(running.port());
  Client third(running.port());
  for (Client* client : {&first, &second}) {
    client->send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(client->read_answer().ends_with("hello\n"));
  }
  third.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(running.connections(), 2U);
  first.close();
  EXPECT_TRUE(third.read_answer().ends_with("hello\n"));
}

TEST(Worker, StopsWithTheAnswerInFlightAndClosesTheIdle) {
  Gate gate;
  RunningWorker running([&](handler::JobThread&, handler::Exchange& exchange) {
    if (exchange.request.path == "/slow") gate.wait();
    answer_text(exchange, "done\n");
  });
  Client idle(running.port());
  idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(idle.read_answer().ends_with("done\n"));
  Client slow(running.port());
  slow.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  running.worker().stop();
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_TRUE(idle.ended());
  EXPECT_NE(running.worker().state(), Worker::State::Ended);
  gate.open();
  const std::string answer = slow.read_to_end();
  EXPECT_EQ(count(answer, "Connection: close"), 1U) << answer;
  EXPECT_TRUE(answer.ends_with("done\n"));
  EXPECT_TRUE(running.worker().join());
}

TEST(Worker, CutsWhatIsLeftWhenTheGracefulTimeIsOver) {
  Config config = RunningWorker::small();
  config.timeouts.graceful = std::chrono::milliseconds(50);
  Gate gate;
  RunningWorker running(
      [&](handler::JobThread&, handler::Exchange& exchange) {
        gate.wait();
        answer_text(exchange, "done\n");
      },
      config);
  Client client(running.port());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  running.worker().stop();
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_TRUE(client.ended());
  gate.open();
}

TEST(Worker, DoesNotStartWhenAThreadCannotBeBuilt) {
  auto application = std::make_unique<TestApplication>(hello);
  application->fail_make = true;
  RunningWorker running(std::move(application));
  EXPECT_TRUE(eventually([&] { return running.worker().state() == Worker::State::Ended; }));
  EXPECT_EQ(running.worker().failure(), "no thread today");
}

TEST(Worker, BlockedHandlersStrandNobody) {
  Config config = RunningWorker::small();
  config.lane.threads = 4;
  config.lane.max_threads = 64;
  Gate gate;
  RunningWorker running(
      [&](handler::JobThread&, handler::Exchange& exchange) {
        if (exchange.request.path == "/block") gate.wait();
        answer_text(exchange, "done\n");
      },
      config);
  std::vector<std::unique_ptr<Client>> blocked;
  for (int i = 0; i < 20; ++i) {
    blocked.push_back(std::make_unique<Client>(running.port()));
    blocked.back()->send("GET /block HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 20; }));
  Client fast(running.port());
  for (int i = 0; i < 100; ++i) {
    fast.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(fast.read_answer().ends_with("done\n"));
  }
  gate.open();
  for (auto& client : blocked) EXPECT_TRUE(client->read_answer().ends_with("done\n"));
}

}  // namespace
}  // namespace m0::server::testing
