#include "m0/held/websocket.hpp"

#include <gtest/gtest.h>

#include "m0/held/fixture_test.hpp"
#include "m0/websocket/close_code.hpp"

namespace m0::held {
namespace {

using handler::Hold;
using std::chrono::seconds;
using websocket::Opcode;

std::string frame(Opcode opcode, std::string_view payload) {
  std::string bytes;
  websocket::append_frame(bytes, {.opcode = opcode}, payload);
  return bytes;
}
std::string text(std::string_view payload) { return frame(Opcode::Text, payload); }
std::string closing(std::uint16_t code, std::string_view reason = {}) {
  std::string bytes;
  websocket::append_close(bytes, code, reason);
  return bytes;
}

class WebSocketTest : public HeldTest {
 protected:
  void start(Hold hold = {}) {
    exchange_.log_position = registry_.arrival();
    client_ = open_websocket(socket_, std::move(hold));
    socket_.got.clear();
  }
  /// What the client sends; how much of it was used.
  std::size_t hear(std::string_view payload, Opcode opcode = Opcode::Text) {
    std::string bytes;
    websocket::append_client_frame(bytes, {.opcode = opcode}, {1, 2, 3, 4}, payload);
    const std::size_t used = client_->receive(bytes);
    return used == bytes.size() ? 1 : 0;
  }
  std::string sent() { return std::exchange(socket_.got, {}); }
  std::string own_id() { return pubsub::to_text(exchange_.connection_id); }

  Socket socket_;
  std::unique_ptr<Client> client_;
};

TEST_F(WebSocketTest, AMessageBecomesAPost) {
  ask("GET", "/chat?room=5",
      {{"Cookie", "a=b"},
       {"Upgrade", "websocket"},
       {"Connection", "Upgrade"},
       {"Sec-WebSocket-Key", "k"},
       {"Content-Length", "0"},
       {"X-Forwarded-For", "1.2.3.4"}});
  start({.channels = {"news", "gr\xc3\xbc\xc3\x9f, all"}, .metadata = "M0-Meta-User: 7\r\n"});
  hear("hello");
  ASSERT_EQ(office_.posted.size(), 1u);
  const handler::Exchange& post = *office_.posted.front();
  EXPECT_EQ(post.request.method, "POST");
  EXPECT_EQ(post.request.path, "/chat");
  EXPECT_EQ(post.request.query, "room=5");
  EXPECT_EQ(post.body.memory(), "hello");
  EXPECT_EQ(post.request.content_length, 5u);
  std::string fields;
  for (const http::Field& field : post.request.fields)
    fields.append(field.name).append("=").append(field.value) += '\n';
  EXPECT_EQ(fields, "Host=example.com\nCookie=a=b\nX-Forwarded-For=1.2.3.4\nM0-Connection=" + own_id() +
                        "\nM0-Meta-User=7\nM0-Event=message\nM0-Channel=news, gr%C3%BC%C3%9F%2C%20all\n"
                        "Content-Type=text/plain; charset=utf-8\nContent-Length=5\n");
}

TEST_F(WebSocketTest, WhatAnAnswerSays) {
  start();
  for (const auto& [status, body, expected] :
       std::initializer_list<std::tuple<int, std::string, std::string>>{{204, "", ""},
                                                                        {200, "yes", text("yes")},
                                                                        {200, "", text("")},
                                                                        {201, "made", ""},
                                                                        {302, "elsewhere", ""},
                                                                        {404, "no", ""},
                                                                        {499, "no", ""}}) {
    hear("m");
    office_.answer(status, body);
    EXPECT_EQ(sent(), expected) << status;
  }
  hear("m");
  office_.answer(200, "b\xff", {{"Content-Type", "application/octet-stream"}});
  EXPECT_EQ(sent(), frame(Opcode::Binary, "b\xff"));
  hear("m");
  office_.answer(200, "no UTF-8\xff");
  EXPECT_EQ(sent(), frame(Opcode::Binary, "no UTF-8\xff")) << "a text frame of it would break the connection";
  hear("m");
  office_.answer(503, "oh");
  EXPECT_EQ(sent(), closing(1011));
  EXPECT_EQ(socket_.ends, 1);
  EXPECT_EQ(socket_.ending, Ending::Orderly);
}

TEST_F(WebSocketTest, AnAnswerThatCannotBeUsedClosesWith1011) {
  for (const auto& [size, name, value] :
       std::initializer_list<std::tuple<std::size_t, const char*, const char*>>{{1001, "X-Fits", "not"},
                                                                                {1, "M0-Close", "1005"},
                                                                                {1, "M0-Close", "x"},
                                                                                {1, "M0-Close", "999"},
                                                                                {1, "M0-Close", "1010"},
                                                                                {1, "M0-Close", "1000,bye"},
                                                                                {1, "M0-Channel", ""},
                                                                                {1, "M0-Channel", "%00"}}) {
    start();
    hear("m");
    office_.answer(200, std::string(size, 'x'), {{name, value}});
    EXPECT_EQ(sent(), closing(1011)) << name << ": " << value;
    client_.reset();
  }
}

TEST_F(WebSocketTest, OneMessageAtATimeInTheirOrder) {
  start();
  for (const char* message : {"1", "2", "3"}) hear(message);
  EXPECT_EQ(office_.said(), std::vector<std::string>{"1"});
  office_.answer(204);
  EXPECT_EQ(office_.said(), std::vector<std::string>{"2"});
  office_.answer(204);
  office_.answer(204);
  EXPECT_TRUE(registry_.messages_answered());
}

TEST_F(WebSocketTest, WhenSixteenWaitItIsNotRead) {
  start();
  for (std::size_t i = 0; i < Inbox::kMostWaiting; ++i) {
    EXPECT_TRUE(client_->wants_input()) << i;
    EXPECT_EQ(hear("m"), 1u);
  }
  EXPECT_FALSE(client_->wants_input());
  EXPECT_EQ(socket_.reads, 0);
  office_.answer(204);
  EXPECT_TRUE(client_->wants_input());
  EXPECT_EQ(socket_.reads, 1);
}

TEST_F(WebSocketTest, OfManyInOneReadOnlySixteenAreTaken) {
  start();
  std::string bytes;
  for (int i = 0; i < 20; ++i) websocket::append_client_frame(bytes, {.opcode = Opcode::Text}, {1, 2, 3, 4}, "mm");
  EXPECT_EQ(client_->receive(bytes), bytes.size() / 20 * Inbox::kMostWaiting);
}

TEST_F(WebSocketTest, WhenAMessagesBytesWaitItIsNotReadEither) {
  start();
  hear(std::string(900, 'x'));
  EXPECT_TRUE(client_->wants_input());
  hear(std::string(200, 'x'));
  EXPECT_FALSE(client_->wants_input());
}

TEST_F(WebSocketTest, AFullLaneLeavesTheMessageQueued) {
  start();
  office_.room = 0;
  hear("m");
  turns();
  EXPECT_TRUE(office_.posted.empty());
  office_.room = 1;
  turns();
  EXPECT_EQ(office_.said(), std::vector<std::string>{"m"});
  EXPECT_EQ(office_.discarded, 0);
}

TEST_F(WebSocketTest, OneFullLaneHoldsUpNobodyForLong) {
  // All inboxes that wait are tried in turn, a bounded number of them each turn.
  office_.room = 0;
  std::vector<Socket> sockets(200);
  std::vector<std::unique_ptr<Client>> clients;
  for (Socket& socket : sockets) {
    clients.push_back(open_websocket(socket));
    std::string bytes;
    websocket::append_client_frame(bytes, {.opcode = Opcode::Text}, {1, 2, 3, 4}, "m");
    clients.back()->receive(bytes);
  }
  office_.room = 1000;
  turns();
  EXPECT_EQ(office_.posted.size(), 64u);
  for (int i = 0; i < 3; ++i) turns();
  EXPECT_EQ(office_.posted.size(), 200u);
}

TEST_F(WebSocketTest, ALoopHandlerAnswersAtOnce) {
  office_.on_loop = true;
  start();
  std::string bytes;
  for (int i = 0; i < 1000; ++i) websocket::append_client_frame(bytes, {.opcode = Opcode::Text}, {1, 2, 3, 4}, "m");
  EXPECT_EQ(client_->receive(bytes), bytes.size());
  EXPECT_EQ(office_.answered, 1000);
}

TEST_F(WebSocketTest, ItsLifeIsToldToWhoAsksForIt) {
  start({.wants_open = true, .wants_close = true});
  EXPECT_EQ(office_.said(), std::vector<std::string>{"open"});
  hear("last words");
  hear(closing(4002, "bye").substr(2), Opcode::Close);
  EXPECT_EQ(sent(), closing(4002));
  client_.reset();
  office_.answer(204);
  EXPECT_EQ(office_.said(), std::vector<std::string>{"last words"}) << "what it said before it left is heard";
  office_.answer(200, "nobody is there");
  ASSERT_EQ(office_.said(), std::vector<std::string>{"close"});
  EXPECT_EQ(office_.posted.front()->request.find("M0-Close"), "4002");
  EXPECT_EQ(office_.posted.front()->request.find("M0-Channel"), "news");
  EXPECT_FALSE(registry_.messages_answered());
  office_.answer(204);
  EXPECT_TRUE(registry_.messages_answered());
}

TEST_F(WebSocketTest, WhoVanishesWasClosedWith1006) {
  start({.wants_close = true});
  client_.reset();
  ASSERT_EQ(office_.posted.size(), 1u);
  EXPECT_EQ(office_.posted.front()->request.find("M0-Close"), "1006");
}

TEST_F(WebSocketTest, AMassDisconnectLeavesThreadsForPages) {
  std::vector<Socket> sockets(50);
  std::vector<std::unique_ptr<Client>> clients;
  for (Socket& socket : sockets) clients.push_back(open_websocket(socket, {.wants_close = true}));
  clients.clear();
  for (std::size_t gone = 0; gone < 50; ++gone) {
    turns();
    ASSERT_EQ(office_.posted.size(), config_.closes_at_once) << gone;
    office_.answer(204);
  }
  turns();
  EXPECT_TRUE(office_.posted.empty());
  EXPECT_TRUE(registry_.messages_answered());
}

TEST_F(WebSocketTest, PingsAreAnsweredAndLivesAreLookedFor) {
  start();
  hear("are you there", Opcode::Ping);
  EXPECT_EQ(sent(), frame(Opcode::Pong, "are you there"));
  const base::Instant begin = base::now();
  int pings = 0;
  for (int second = 1; second <= 70; ++second) {
    registry_.tick(begin + seconds(second));
    if (sent() == frame(Opcode::Ping, "")) {
      ++pings;
      hear("", Opcode::Pong);
    }
  }
  EXPECT_GE(pings, 3);
  EXPECT_EQ(socket_.ends, 0);
  for (int second = 71; second <= 115; ++second) registry_.tick(begin + seconds(second));
  EXPECT_EQ(socket_.ends, 1) << "it has not answered a ping until the next one was due";
  EXPECT_EQ(socket_.ending, Ending::Cut);
}

TEST_F(WebSocketTest, OneThatIsNotReadNeedNotAnswerPings) {
  start();
  for (std::size_t i = 0; i < Inbox::kMostWaiting; ++i) hear("m");
  const base::Instant begin = base::now();
  for (int second = 1; second <= 120; ++second) registry_.tick(begin + seconds(second));
  EXPECT_EQ(socket_.ends, 0);
}

TEST_F(WebSocketTest, AViolationClosesWithItsCode) {
  start();
  hear("\xff");
  EXPECT_EQ(sent(), closing(1007, "text is not UTF-8"));
  EXPECT_EQ(socket_.ending, Ending::Orderly);
  EXPECT_FALSE(client_->wants_input());
}

// RFC 6455 7.4.1: 1010 is "not used by the server".
TEST_F(WebSocketTest, ItsCloseIsAnsweredWithItsCode) {
  for (const auto& [payload, answer] :
       std::initializer_list<std::pair<std::string, std::string>>{{"\x03\xe9 bye", closing(1001)},
                                                                  {"\x0f\xa2", closing(4002)},
                                                                  {"\x03\xf2", closing(1000)},
                                                                  {"", closing(websocket::close_code::kNoStatus)}}) {
    start();
    hear(payload, Opcode::Close);
    EXPECT_EQ(sent(), answer);
    EXPECT_EQ(socket_.ending, Ending::Orderly);
    client_.reset();
  }
}

TEST_F(WebSocketTest, AMessageOverTheLimitCloses) {
  start();
  hear(std::string(1001, 'x'));
  EXPECT_EQ(sent(), closing(1009, "message too big"));
}

TEST_F(WebSocketTest, EventsComeAsFrames) {
  start();
  publish("one");
  publish("two");
  turns();
  EXPECT_EQ(sent(), text("one") + text("two"));
}

TEST_F(WebSocketTest, WhatIsSentToItComesBehindWhatWasPublishedBefore) {
  start();
  publish("before");
  tell(pubsub::control_event(pubsub::Verb::Send, own_id(), "to you"));
  publish("after");
  turns();
  EXPECT_EQ(sent(), text("before") + text("to you") + text("after"));
}

TEST_F(WebSocketTest, ToAnotherItIsNotSent) {
  start();
  tell(pubsub::control_event(pubsub::Verb::Send, pubsub::to_text(registry_.next_connection()), "no"));
  tell(pubsub::control_event(pubsub::Verb::Send, "00000000-1", "no"));
  turns();
  EXPECT_EQ(sent(), "");
}

TEST_F(WebSocketTest, ACloseComesBehindWhatWasPublishedBefore) {
  for (const bool all : {false, true}) {
    start();
    publish("goodbye");
    tell(all ? pubsub::control_event(pubsub::Verb::CloseChannel, "news", pubsub::to_data({.code = 4000, .reason = "r"}))
             : pubsub::control_event(pubsub::Verb::CloseConnection, own_id(),
                                     pubsub::to_data({.code = 4000, .reason = "r"})));
    publish("too late");
    turns();
    EXPECT_EQ(sent(), text("goodbye") + closing(4000, "r")) << all;
    EXPECT_EQ(socket_.ends, 1);
    client_.reset();
    socket_.ends = 0;
  }
}

TEST_F(WebSocketTest, WhatASlowOneIsToldWaitsForTheEndOfItsFrame) {
  start();
  socket_.room = 4;
  publish("a long event");
  publish("another");
  turns();
  hear("ping", Opcode::Ping);
  tell(pubsub::control_event(pubsub::Verb::Send, own_id(), "to you"));
  publish("third");
  turns();
  socket_.room = 1 << 20;
  client_->writable();
  turns();
  EXPECT_EQ(sent(),
            text("a long event") + frame(Opcode::Pong, "ping") + text("another") + text("to you") + text("third"));
}

TEST_F(WebSocketTest, ALongStallIsFollowedByWhatWasMissedOrByAnEnd) {
  start();
  socket_.room = 0;
  publish("first");
  turns();
  for (int i = 0; i < 3000; ++i) publish("an event that pushes the first out of the log");
  turns();
  socket_.room = 1 << 20;
  client_->writable();
  turns();
  EXPECT_EQ(sent(), closing(1013, "events were missed"));
}

TEST_F(WebSocketTest, AnAnswerReplacesTheChannels) {
  start({.channels = {"a", "b"}});
  publish("1", "b");
  turns();
  hear("join");
  publish("2", "b");
  publish("3", "c");  // while its view runs
  publish("4", "a");
  turns();
  EXPECT_EQ(sent(), text("1") + text("2") + text("4"));
  office_.posted.front()->log_position = 1;
  office_.answer(204, "", {{"M0-Channel", "b, c"}});
  publish("5", "a");
  publish("6", "b");
  publish("7", "c");
  turns();
  EXPECT_EQ(sent(), text("3") + text("6") + text("7")) << "nothing twice, and of the new one all since the message";
}

TEST_F(WebSocketTest, WhoJoinsAChannelGetsNothingOfWhatWasSaidBefore) {
  start({.channels = {"quiet"}});
  for (int i = 0; i < 3; ++i) publish("before", "secret");
  turns();
  hear("join");
  office_.posted.front()->log_position = registry_.arrival();
  publish("meanwhile", "secret");
  office_.answer(204, "", {{"M0-Channel", "secret, quiet"}});
  turns();
  EXPECT_EQ(sent(), text("meanwhile"));
}

TEST_F(WebSocketTest, NorHasItMissedAnythingThere) {
  start({.channels = {"quiet"}});
  for (int i = 0; i < 3000; ++i) {
    publish("so many that the first have left the log", "busy");
    if (i % 100 == 0) turns();  // a reader that is overtaken looks at everybody
  }
  turns();
  hear("join");
  office_.posted.front()->log_position = registry_.arrival();
  office_.answer(204, "", {{"M0-Channel", "busy"}});
  publish("after", "busy");
  turns();
  EXPECT_EQ(sent(), text("after"));
  EXPECT_EQ(socket_.ends, 0);
}

TEST_F(WebSocketTest, WhoLeavesInTheMiddleOfAFrameGetsTheRestOfIt) {
  start();
  socket_.room = 4;
  publish("a long event");
  publish("never sent");
  turns();
  hear(closing(4002).substr(2), Opcode::Close);
  EXPECT_EQ(socket_.ends, 0);
  socket_.room = 1 << 20;
  client_->writable();
  turns();
  EXPECT_EQ(sent(), text("a long event") + closing(4002));
  EXPECT_EQ(socket_.ending, Ending::Orderly);
}

TEST_F(WebSocketTest, InTheMiddleOfAFrameTheChannelsWait) {
  start({.channels = {"a"}});
  hear("join");
  hear("next");
  socket_.room = 3;
  publish("a long event", "a");
  publish("never sent", "a");
  turns();
  office_.posted.front()->log_position = 2;
  office_.answer(200, "joined", {{"M0-Channel", "b"}});
  EXPECT_TRUE(office_.posted.empty()) << "the next message waits for it";
  socket_.room = 1 << 20;
  client_->writable();
  turns();
  EXPECT_EQ(office_.said(), std::vector<std::string>{"next"});
  EXPECT_EQ(office_.posted.front()->request.find("M0-Channel"), "b");
  publish("of b", "b");
  turns();
  EXPECT_EQ(sent(), text("a long event") + text("joined") + text("of b"));
}

TEST_F(WebSocketTest, AViewCloses) {
  start({.wants_close = true});
  hear("1");
  hear("2");
  office_.answer(200, "bye", {{"M0-Close", "4001 enough"}});
  EXPECT_EQ(sent(), text("bye") + closing(4001, "enough"));
  client_.reset();
  EXPECT_EQ(office_.said(), std::vector<std::string>{"close"}) << "the second message is not heard any more";
  EXPECT_EQ(office_.posted.front()->request.find("M0-Close"), "4001");
}

TEST_F(WebSocketTest, AStopWaitsForItsMessages) {
  start();
  hear("1");
  hear("2");
  EXPECT_EQ(registry_.drain(seconds(5), seconds(30)), 0u);
  EXPECT_EQ(sent(), "");
  EXPECT_FALSE(client_->wants_input()) << "nothing new is heard";
  office_.answer(200, "one");
  office_.answer(204);
  EXPECT_EQ(sent(), text("one") + closing(1012, "come back"));
  EXPECT_TRUE(registry_.messages_answered());
}

TEST_F(WebSocketTest, AFarewellThatIsNotTakenIsCut) {
  start();
  socket_.room = 0;
  hear("\xff");
  EXPECT_EQ(socket_.ends, 0);
  registry_.tick(base::now() + seconds(30));
  EXPECT_EQ(socket_.ends, 1);
  EXPECT_EQ(socket_.ending, Ending::Cut);
}

TEST_F(WebSocketTest, AFarewellIsBoundedHoweverSeldomItsSignsOfLifeAre) {
  // Many, because each is looked at in a second of its own.
  std::vector<Socket> sockets(20);
  std::vector<std::unique_ptr<Client>> clients;
  for (Socket& socket : sockets) clients.push_back(open_websocket(socket, {.keep_alive = seconds(3600)}));
  const base::Instant begin = base::now();
  for (int second = 1; second <= 5; ++second) registry_.tick(begin + seconds(second));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    sockets[i].room = 0;
    std::string bytes;
    websocket::append_client_frame(bytes, {.opcode = Opcode::Text}, {1, 2, 3, 4}, "\xff");
    clients[i]->receive(bytes);
  }
  for (int second = 6; second <= 14; ++second) registry_.tick(begin + seconds(second));
  EXPECT_TRUE(std::ranges::all_of(sockets, [](const Socket& socket) { return socket.ends == 0; }));
  for (int second = 15; second <= 17; ++second) registry_.tick(begin + seconds(second));
  EXPECT_TRUE(std::ranges::all_of(sockets, [](const Socket& socket) { return socket.ends == 1; }));
}

TEST_F(WebSocketTest, OfManyPingsInOneReadAFewAreAnsweredAndTheLast) {
  start();
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    websocket::append_client_frame(bytes, {.opcode = Opcode::Ping}, {1, 2, 3, 4}, std::to_string(i));
  }
  EXPECT_EQ(client_->receive(bytes), bytes.size());
  std::string expected;
  for (int i = 0; i < 16; ++i) expected += frame(Opcode::Pong, std::to_string(i));
  EXPECT_EQ(sent(), expected + frame(Opcode::Pong, "999"));
  bytes.clear();
  websocket::append_client_frame(bytes, {.opcode = Opcode::Ping}, {1, 2, 3, 4}, "before");
  websocket::append_client_frame(bytes, {.opcode = Opcode::Close}, {1, 2, 3, 4}, closing(1000).substr(2));
  EXPECT_EQ(client_->receive(bytes), bytes.size());
  EXPECT_EQ(sent(), frame(Opcode::Pong, "before") + closing(1000));
}

TEST_F(WebSocketTest, WhoDoesNotReadIsNotHeard) {
  start();
  socket_.room = 10;
  hear("1");
  hear("2");
  office_.answer(200, std::string(900, 'x'));
  EXPECT_EQ(office_.said(), std::vector<std::string>{"2"}) << "little waits";
  office_.answer(200, std::string(900, 'x'));
  for (int i = 0; i < 3; ++i) {
    hear("m");
    office_.answer(200, std::string(900, 'x'));
  }
  hear("3");
  EXPECT_TRUE(office_.posted.empty());
  socket_.room = 1 << 20;
  client_->writable();
  turns();
  EXPECT_EQ(office_.said(), std::vector<std::string>{"3"});
}

TEST_F(WebSocketTest, WhoDoesNotTakeWhatIsSentToItAloneIsCut) {
  start();
  socket_.room = 0;
  const std::string large(log_.largest_event() - 100, 'x');
  for (int i = 0; i < 3000 && socket_.ends == 0; ++i) {
    tell(pubsub::control_event(pubsub::Verb::Send, own_id(), large));
    turns();
  }
  EXPECT_EQ(socket_.ends, 1);
}

TEST_F(WebSocketTest, JsonFramesSayWhatTheyAre) {
  start({.channels = {"news"}, .json = true});
  const auto seq = log_.try_append({.channel = "news", .data = "say \"hi\"\n", .name = "note"});
  ASSERT_TRUE(seq);
  ASSERT_TRUE(log_.try_append({.channel = "news", .data = "\x01\x02", .binary = true}));
  turns();
  EXPECT_EQ(sent(),
            text(R"({"id":")" + id(1) + R"(","channel":"news","event":"note","data":"say \"hi\"\u000a"})") +
                text(R"({"id":")" + id(2) + R"(","channel":"news","event":null,"encoding":"base64","data":"AQI="})"));
}

TEST_F(WebSocketTest, JsonFramesTellACursorOrAGap) {
  publish("1");
  ask("GET", "/");
  client_ = open_websocket(socket_, {.json = true});
  EXPECT_EQ(sent(), "HEAD\n" + text(R"({"id":")" + id(1) + R"(","channel":null,"event":"m0-cursor","data":""})"));
  client_.reset();
  ask("GET", "/?last_event_id=ffffffffffff-3");
  client_ = open_websocket(socket_, {.json = true});
  EXPECT_EQ(sent(),
            "HEAD\n" + text(R"({"id":")" + id(0) +
                            R"(","channel":null,"event":"m0-gap","data":"{\"from\":\"ffffffffffff-3\",\"to\":\")" +
                            id(0) + R"(\"}"})"))
      << "and no cursor before it: who is cut in between is told again";
}

TEST_F(WebSocketTest, RawFramesCannotTellAGapAndClose) {
  ask("GET", "/?last_event_id=ffffffffffff-3");
  client_ = open_websocket(socket_);
  EXPECT_EQ(sent(), "HEAD\n" + closing(1013, "events were missed"));
}

TEST_F(WebSocketTest, AnEventStreamIsToldNotToComeBack) {
  client_ = open(socket_);
  socket_.got.clear();
  publish("last");
  tell(pubsub::control_event(pubsub::Verb::CloseChannel, "news", pubsub::to_data({})));
  turns();
  EXPECT_EQ(sent(), "id: " + id(1) + "\ndata: last\n\n:\nid: " + id(1) + "-end\n\n");
  EXPECT_EQ(socket_.ending, Ending::Orderly);
  const std::string end = id(1) + "-end";
  ask("GET", "/", {{"Last-Event-ID", end}});
  EXPECT_TRUE(Registry::was_dismissed(exchange_.request));
  ask("POST", "/", {{"Last-Event-ID", end}});
  EXPECT_FALSE(Registry::was_dismissed(exchange_.request));
}

TEST_F(WebSocketTest, AnEventStreamIsSentToAndToldOfToo) {
  client_ = open(socket_, {.wants_open = true, .wants_close = true});
  socket_.got.clear();
  EXPECT_EQ(office_.said(), std::vector<std::string>{"open"});
  tell(pubsub::control_event(pubsub::Verb::Send, own_id(), "two\nlines"));
  turns();
  EXPECT_EQ(sent(), "data: two\ndata: lines\n\n") << "without an id: its cursor is that of the events";
  office_.answer(204);
  client_.reset();
  EXPECT_EQ(office_.said(), std::vector<std::string>{"close"});
}

}  // namespace
}  // namespace m0::held
