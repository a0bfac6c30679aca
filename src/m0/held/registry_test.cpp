#include "m0/held/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "m0/held/fixture_test.hpp"

namespace m0::held {
namespace {

using handler::Hold;
using handler::ResponseBody;
using std::chrono::seconds;

class RegistryTest : public HeldTest {};

TEST_F(RegistryTest, AnOrdinaryAnswerStaysAsItIs) {
  answer({{"Content-Type", "text/html"}, {"ETag", "x"}}, "body");
  EXPECT_FALSE(registry_.admit(exchange_));
  EXPECT_EQ(exchange_.response.head.fields.size(), 2u);
}

TEST_F(RegistryTest, TheHeadOfAHoldIsPutRight) {
  answer({{"M0-Hold", "stream"},
          {"M0-Channel", "news"},
          {"Content-Type", "text/html"},
          {"content-length", "4"},
          {"ETag", "x"},
          {"Cache-Control", "max-age=5"},
          {"Set-Cookie", "a=b"}},
         "head");
  exchange_.response.head.status = 201;
  const auto hold = registry_.admit(exchange_);
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->hold.channels, std::vector<std::string>{"news"});
  const http::FieldList& fields = exchange_.response.head.fields;
  EXPECT_EQ(exchange_.response.head.status, 200) << "browsers take no other";
  EXPECT_EQ(fields.find("Content-Type"), "text/event-stream");
  EXPECT_EQ(fields.find("Cache-Control"), "no-cache, no-transform");
  EXPECT_EQ(fields.find("X-Accel-Buffering"), "no");
  EXPECT_EQ(fields.find("Set-Cookie"), "a=b");
  EXPECT_EQ(fields.size(), 4u);
}

TEST_F(RegistryTest, WhatCannotBeHeldIsA500) {
  for (const auto& [name, value] : std::map<std::string_view, std::string_view>{
           {"M0-Channel", "%00"}, {"M0-Hold", "websockets"}, {"M0-Replay", "x"}, {"Content-Encoding", "gzip"}}) {
    answer({{"M0-Hold", "stream"}, {"M0-Channel", "a"}, {name, value}}, "body");
    EXPECT_FALSE(registry_.admit(exchange_));
    EXPECT_EQ(exchange_.response.head.status, 500) << name;
  }
}

TEST_F(RegistryTest, ARefusalIsJustThat) {
  answer({{"M0-Hold", "stream"}, {"M0-Channel", "a"}}, "no");
  exchange_.response.head.status = 403;
  EXPECT_FALSE(registry_.admit(exchange_));
  EXPECT_EQ(exchange_.response.head.status, 403);
  EXPECT_EQ(exchange_.response.body.bytes, "no");
  EXPECT_TRUE(exchange_.response.head.fields.empty());
}

TEST_F(RegistryTest, TheFirstBlockIsTheCursorThenComesTheBody) {
  publish("old");
  ask("GET", "/");
  answer({}, "data: body\n\n");
  Socket socket;
  const auto stream = open(socket);
  EXPECT_EQ(socket.got, "HEAD\n:\nretry: 2000\nid: " + id(1) + "\n\ndata: body\n\n");
  socket.got.clear();
  publish("new");
  turns();
  EXPECT_EQ(socket.got, "id: " + id(2) + "\ndata: new\n\n");
}

TEST_F(RegistryTest, AHoldBeginsWhenItsRequestArrived) {
  ask("GET", "/");
  publish("meanwhile");
  Socket socket;
  const auto stream = open(socket);
  turns();
  EXPECT_TRUE(socket.got.ends_with("data: meanwhile\n\n"));
}

TEST_F(RegistryTest, AFullSocketGetsItsHeadFirst) {
  Socket socket;
  socket.room = 3;
  const auto stream = open(socket);
  publish("a");
  turns();
  EXPECT_EQ(socket.got, "HEA");
  socket.room = 1 << 20;
  stream->writable();
  turns();
  EXPECT_EQ(socket.got, "HEAD\n:\nretry: 2000\nid: " + id(0) + "\n\nid: " + id(1) + "\ndata: a\n\n");
}

TEST_F(RegistryTest, WhatAnIdSays) {
  for (int i = 1; i <= 3; ++i) publish(std::to_string(i));
  const std::string known = id(2);
  const std::string future = id(99);
  for (const auto& [said, events, gap] : std::initializer_list<std::tuple<std::string, int, bool>>{
           {"", 0, false}, {"garbage", 0, false}, {known, 1, false}, {future, 3, true}, {"ffffffffffff-2", 3, true}}) {
    ask("GET", "/", {{"Last-Event-ID", said}});
    Socket socket;
    const auto stream = open(socket);
    turns();
    std::size_t count = 0;
    for (std::size_t at = socket.got.find("data: "); at != std::string::npos; at = socket.got.find("data: ", at + 1)) {
      ++count;
    }
    EXPECT_EQ(count, static_cast<std::size_t>(events) + (gap ? 1 : 0)) << said;
    EXPECT_EQ(socket.got.find("m0-gap") != std::string::npos, gap) << said;
  }
}

TEST_F(RegistryTest, OfAForeignIdTheGapAloneMovesOn) {
  ask("GET", "/", {{"Last-Event-ID", "ffffffffffff-2"}});
  Socket socket;
  const auto stream = open(socket);
  EXPECT_TRUE(socket.got.starts_with("HEAD\nretry: 2000\n\nid: " + id(0) + "\nevent: m0-gap\n")) << socket.got;
}

TEST_F(RegistryTest, AFloorInTheFutureHidesNothing) {
  publish("old");
  ask("GET", "/");
  Hold hold;
  hold.channels = {"news"};
  hold.since = pubsub::EventId{log_.epoch(), 1000};
  Socket socket;
  const auto stream = open(socket, hold);
  publish("new");
  turns();
  EXPECT_TRUE(socket.got.ends_with("data: new\n\n"));
}

TEST_F(RegistryTest, SignsOfLifeDoNotLeaveAllAtOnce) {
  constexpr int kStreams = 400;
  std::vector<Socket> sockets(kStreams);
  std::vector<std::unique_ptr<Client>> streams;
  for (Socket& socket : sockets) streams.push_back(open(socket));
  const base::Instant start = base::now();
  std::map<int, int> in_second;
  for (int second = 1; second <= 60; ++second) {
    for (Socket& socket : sockets) socket.got.clear();
    registry_.tick(start + seconds(second));
    for (const Socket& socket : sockets) in_second[second] += socket.got.empty() ? 0 : 1;
  }
  int all = 0;
  for (const auto& [second, count] : in_second) {
    all += count;
    EXPECT_LT(count, kStreams / 4) << "in second " << second;
  }
  EXPECT_GE(all, kStreams * 2) << "each 20 seconds, the first one sooner";
  EXPECT_LE(all, kStreams * 4);
}

TEST_F(RegistryTest, AStalledClientGetsNoSignOfLife) {
  Socket socket;
  const auto stream = open(socket);
  socket.room = 10;
  publish("a long event that does not fit");
  turns();
  ASSERT_TRUE(stream->mid_frame());
  const std::string got = socket.got;
  registry_.tick(base::now() + seconds(120));
  EXPECT_EQ(socket.got, got);
}

TEST_F(RegistryTest, AHoldLongerThanTheBucketsGoRoundIsKept) {
  Hold hold;
  hold.keep_alive = seconds(300);
  Socket socket;
  const auto stream = open(socket, hold);
  socket.got.clear();
  const base::Instant start = base::now();
  int signs = 0;
  for (int second = 1; second <= 900; ++second) {
    registry_.tick(start + seconds(second));
    if (!std::exchange(socket.got, {}).empty()) ++signs;
  }
  EXPECT_GE(signs, 3);
  EXPECT_LE(signs, 4);
}

TEST_F(RegistryTest, ItsTimeIsOver) {
  Hold hold;
  hold.timeout = seconds(5);
  Socket socket;
  const auto stream = open(socket, hold);
  socket.got.clear();
  const base::Instant start = base::now();
  for (int second = 1; second <= 4; ++second) registry_.tick(start + seconds(second));
  EXPECT_EQ(socket.ends, 0);
  for (int second = 5; second <= 7; ++second) registry_.tick(start + seconds(second));
  EXPECT_EQ(socket.ends, 1);
  EXPECT_TRUE(socket.got.starts_with("retry: ")) << socket.got;
}

TEST_F(RegistryTest, WhoAsksForAStreamIsNotRefusedWithAnError) {
  ask("GET", "/", {{"accept", "text/html, text/event-stream;q=0.9"}});
  EXPECT_TRUE(Registry::asks_for_event_stream(exchange_.request));
  ask("POST", "/", {{"Accept", "text/event-stream"}});
  EXPECT_FALSE(Registry::asks_for_event_stream(exchange_.request));
  ask("GET", "/", {{"Accept", "text/html"}});
  EXPECT_FALSE(Registry::asks_for_event_stream(exchange_.request));
  registry_.refuse(exchange_);
  EXPECT_EQ(exchange_.response.head.status, 200);
  EXPECT_EQ(exchange_.response.head.fields.find("Content-Type"), "text/event-stream");
  EXPECT_TRUE(exchange_.window->readable().starts_with("retry: "));
  EXPECT_TRUE(exchange_.aborted) << "it has no end of its own";
}

TEST_F(RegistryTest, AStopIsSpread) {
  std::vector<Socket> sockets(100);
  std::vector<std::unique_ptr<Client>> streams;
  for (Socket& socket : sockets) streams.push_back(open(socket));
  const auto ended = [&] {
    return std::ranges::count_if(sockets, [](const Socket& socket) { return socket.ends == 1; });
  };
  EXPECT_EQ(registry_.drain(seconds(0), seconds(30)), 99u);
  EXPECT_EQ(registry_.drain(seconds(1), seconds(30)), 74u);
  EXPECT_EQ(ended(), 26);
  EXPECT_EQ(registry_.drain(seconds(2), seconds(30)), 49u);
  EXPECT_EQ(registry_.drain(seconds(4), seconds(30)), 0u);
  EXPECT_EQ(ended(), 100);
  std::map<std::string, int> delays;
  for (const Socket& socket : sockets) ++delays[socket.got.substr(socket.got.rfind("retry: "))];
  EXPECT_GT(delays.size(), 50u) << "they do not come back at once either";
}

TEST_F(RegistryTest, AStopThatHasLittleTimeTellsEverybodyAllTheSame) {
  std::vector<Socket> sockets(8);
  std::vector<std::unique_ptr<Client>> streams;
  for (Socket& socket : sockets) streams.push_back(open(socket));
  EXPECT_EQ(registry_.drain(seconds(0), seconds(2)), 7u);
  EXPECT_EQ(registry_.drain(std::chrono::milliseconds(1500), seconds(2)), 0u) << "the spread is four seconds";
}

TEST_F(RegistryTest, InTheMiddleOfAnEventItIsOnlyEnded) {
  Socket socket;
  const auto stream = open(socket);
  socket.room = 10;
  publish("a long event that does not fit");
  turns();
  const std::string got = socket.got;
  socket.room = 1 << 20;
  EXPECT_EQ(registry_.drain(seconds(10), seconds(30)), 0u);
  EXPECT_EQ(socket.ends, 1);
  EXPECT_EQ(socket.got, got);
}

TEST_F(RegistryTest, OneThatIsGoneIsEndedOnce) {
  Socket socket;
  const auto stream = open(socket);
  socket.gone = true;
  publish("a");
  turns();
  publish("b");
  turns();
  registry_.tick(base::now() + seconds(120));
  EXPECT_EQ(socket.ends, 1);
}

TEST_F(RegistryTest, SleepsOnlyWhenNothingIsLeft) {
  EXPECT_TRUE(registry_.may_sleep());
  registry_.awake();
  publish("a");
  EXPECT_FALSE(registry_.may_sleep());
  turns();
  EXPECT_TRUE(registry_.may_sleep());
}

}  // namespace
}  // namespace m0::held
