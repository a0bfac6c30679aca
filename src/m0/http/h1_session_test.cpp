// One connection's life: what is read when, what is answered how, and whether it goes on.

#include "m0/http/h1_session.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace m0::http {
namespace {

const std::string kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string kPost = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";

struct Owner final : SessionEvents {
  void on_head(StreamId stream, const RequestHead& head) override {
    streams.push_back(stream);
    method = head.method;
    log += 'H';
    if (head_hook) head_hook(stream);
  }
  void on_body(StreamId /*stream*/, std::string_view bytes) override {
    body += bytes;
    log += 'B';
  }
  void on_request_end(StreamId stream) override {
    log += 'E';
    if (end_hook) end_hook(stream);
  }
  void on_protocol_error(StreamId stream, int error, const char* why) override {
    status = error;
    reason = why;
    error_stream = stream;
    log += '!';
  }

  std::string log;
  std::string body;
  std::string method;
  std::vector<StreamId> streams;
  std::function<void(StreamId)> head_hook;
  std::function<void(StreamId)> end_hook;
  std::string reason;
  StreamId error_stream = 0;
  int status = 0;
};

class H1SessionTest : public ::testing::Test {
 protected:
  std::size_t receive(std::string_view bytes) { return session.receive(bytes, owner); }
  /// A whole answer; what was appended.
  std::string respond(std::string_view body = {}, int status = 200, bool close = false) {
    std::string out;
    ResponseHead head;
    head.status = status;
    session.begin_answer(1, head, body.size(), {}, close, out);
    session.append_body(1, body, out);
    session.end_answer(1, out);
    return out;
  }

  H1Context context;
  H1Session session{context};
  Owner owner;
};

TEST_F(H1SessionTest, ReadsOneRequestAndPausesUntilItIsAnswered) {
  EXPECT_FALSE(session.paused());
  EXPECT_EQ(receive(kGet + kGet), kGet.size());
  EXPECT_EQ(owner.log, "HE");
  EXPECT_TRUE(session.paused());
  EXPECT_FALSE(session.mid_request());
  EXPECT_EQ(receive(kGet), 0U);

  respond();
  EXPECT_FALSE(session.paused());
  EXPECT_TRUE(session.keep_alive());
  EXPECT_EQ(receive(kGet), kGet.size());
  EXPECT_EQ(owner.log, "HEHE");
  EXPECT_EQ(owner.streams, (std::vector<StreamId>{1, 2}));
}

TEST_F(H1SessionTest, AnOwnerMayAnswerInsideTheCallback) {
  std::string out;
  owner.end_hook = [&](StreamId stream) {
    session.begin_answer(stream, {}, 0, {}, false, out);
    session.end_answer(stream, out);
  };
  EXPECT_EQ(receive(kGet + kGet + kGet), 3 * kGet.size());
  EXPECT_EQ(owner.log, "HEHEHE");
}

TEST_F(H1SessionTest, AnAnswerInsideOnHeadKeepsAConnectionWithoutABody) {
  std::string out;
  owner.head_hook = [&](StreamId stream) {
    session.begin_answer(stream, {}, 0, {}, false, out);
    session.end_answer(stream, out);
  };
  EXPECT_EQ(receive(kGet + kGet), 2 * kGet.size());
  EXPECT_EQ(owner.log, "HH");
  EXPECT_TRUE(session.keep_alive());
}

TEST_F(H1SessionTest, MidRequest) {
  EXPECT_FALSE(session.mid_request());
  receive("\r\n");
  EXPECT_FALSE(session.mid_request());
  receive("G");
  EXPECT_TRUE(session.mid_request());
  receive("ET / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n");
  EXPECT_TRUE(session.mid_request());
  receive("ab");
  EXPECT_FALSE(session.mid_request());
}

TEST_F(H1SessionTest, AnIdleSessionOwnsNothingMore) { EXPECT_LE(sizeof(H1Session), 96U); }

TEST_F(H1SessionTest, AHeadInTinyPiecesAndItsBody) {
  const std::string bytes = kPost + "abc" + kGet;
  std::size_t at = 0;
  while (!session.paused()) at += receive(std::string_view(bytes).substr(at, 1));
  EXPECT_EQ(owner.body, "abc");
  EXPECT_EQ(at, kPost.size() + 3);
}

TEST_F(H1SessionTest, TwoSessionsShareOneScratch) {
  H1Session other(context);
  Owner second;
  receive("GET / HTTP/1.1\r\nHost: a\r\nX: 1");
  other.receive("HEAD / HTTP/1.1\r\nHost: b\r\nY: 2\r\nZ: 3\r\n", second);
  receive("\r\n\r\n");
  other.receive("\r\n", second);
  EXPECT_EQ(owner.log, "HE");
  EXPECT_EQ(owner.method, "GET");
  EXPECT_EQ(second.log, "HE");
  EXPECT_EQ(second.method, "HEAD");
}

// -- the end of a connection

TEST_F(H1SessionTest, AnAnswerBeforeTheRequestWasReadCloses) {
  receive(kPost + "a");
  const std::string out = respond("no", 403);
  EXPECT_NE(out.find("Connection: close\r\n"), std::string::npos);
  EXPECT_FALSE(session.keep_alive());
  EXPECT_TRUE(session.paused());
  EXPECT_EQ(receive("bc" + kGet), 0U);
}

TEST_F(H1SessionTest, ABodyThatArrivesDuringAnEarlyAnswerDoesNotSaveTheConnection) {
  receive(kPost);
  std::string out;
  session.begin_answer(1, {}, 2, {}, false, out);
  receive("abc");
  EXPECT_EQ(owner.log, "HBE");
  session.append_body(1, "no", out);
  session.end_answer(1, out);
  EXPECT_FALSE(session.keep_alive());
}

TEST_F(H1SessionTest, AProtocolErrorIsTheLast) {
  EXPECT_TRUE(receive("GET / HTTP/1.1\r\nHost: a b\r\n\r\n") > 0);
  EXPECT_EQ(owner.log, "!");
  EXPECT_EQ(owner.status, 400);
  EXPECT_EQ(owner.error_stream, 1U);
  EXPECT_TRUE(session.paused());
  EXPECT_FALSE(session.keep_alive());
  EXPECT_NE(respond("bad", 400).find("Connection: close\r\n"), std::string::npos);
  EXPECT_FALSE(session.keep_alive());
  EXPECT_TRUE(session.paused());
  EXPECT_EQ(receive(kGet), 0U);
}

TEST_F(H1SessionTest, AnErrorInTheBodyEndsTheStreamOfItsHead) {
  receive("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab");
  EXPECT_EQ(owner.log, "HB!");
  EXPECT_EQ(owner.status, 400);
  EXPECT_EQ(owner.error_stream, owner.streams.front());
  EXPECT_FALSE(session.keep_alive());
}

TEST_F(H1SessionTest, AnErrorAfterAHeadRequestStillHasABody) {
  receive("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  respond();
  receive("\x01");
  EXPECT_TRUE(respond("bad", 400).ends_with("\r\n\r\nbad"));
}

TEST_F(H1SessionTest, AnAnswerBeforeAHeadHasABodyWhateverCameBefore) {
  receive("HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  respond();
  receive("GET / HT");
  EXPECT_EQ(respond("slow", 408), "HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\nConnection: close\r\n\r\nslow");
  EXPECT_FALSE(session.mid_request());
  EXPECT_TRUE(session.paused());
}

TEST_F(H1SessionTest, CloseIsAskedForBySideOrOther) {
  receive("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_NE(respond().find("Connection: close\r\n"), std::string::npos);
  EXPECT_FALSE(session.keep_alive());

  H1Session second(context);
  Owner events;
  std::string out;
  second.receive(kGet, events);
  second.begin_answer(1, {}, 0, {}, true, out);
  second.end_answer(1, out);
  EXPECT_FALSE(second.keep_alive());
  EXPECT_TRUE(second.paused());
}

TEST_F(H1SessionTest, TheApplicationMayClose) {
  receive(kGet);
  ResponseHead head;
  head.fields.add("Connection", "close");
  std::string out;
  session.begin_answer(1, head, 0, {}, false, out);
  session.end_answer(1, out);
  EXPECT_FALSE(session.keep_alive());
}

// -- bodies of answers

TEST_F(H1SessionTest, SizedAnswer) {
  receive(kGet);
  EXPECT_EQ(respond("hello"), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
}

TEST_F(H1SessionTest, MoreThanDeclaredIsDroppedAndCloses) {
  receive(kGet);
  std::string out;
  session.begin_answer(1, {}, 3, {}, false, out);
  EXPECT_TRUE(session.answer_has_body());
  EXPECT_EQ(session.append_body(1, "ab", out), 2U);
  EXPECT_EQ(session.append_body(1, "cd", out), 1U);
  EXPECT_EQ(session.append_body(1, "e", out), 0U);
  session.end_answer(1, out);
  EXPECT_TRUE(out.ends_with("\r\n\r\nabc"));
  EXPECT_FALSE(session.keep_alive());
}

TEST_F(H1SessionTest, LessThanDeclaredCloses) {
  receive(kGet);
  std::string out;
  session.begin_answer(1, {}, 3, {}, false, out);
  session.append_body(1, "ab", out);
  session.end_answer(1, out);
  EXPECT_FALSE(session.keep_alive());
}

TEST_F(H1SessionTest, BytesThatTheOwnerSendsCount) {
  receive(kGet);
  std::string out;
  session.begin_answer(1, {}, 10, {}, false, out);
  session.count_body(1, 4);
  session.count_body(1, 6);
  session.end_answer(1, out);
  EXPECT_TRUE(session.keep_alive());

  receive(kGet);
  session.begin_answer(2, {}, 10, {}, false, out);
  session.count_body(2, 11);
  session.end_answer(2, out);
  EXPECT_FALSE(session.keep_alive());
}

TEST_F(H1SessionTest, UnsizedAnswerIsChunked) {
  receive(kGet);
  std::string out;
  session.begin_answer(1, {}, {}, {}, false, out);
  out.clear();
  EXPECT_EQ(session.append_body(1, "abc", out), 3U);
  EXPECT_EQ(session.append_body(1, "", out), 0U);
  EXPECT_EQ(session.append_body(1, "de", out), 2U);
  session.end_answer(1, out);
  EXPECT_EQ(session.append_body(1, "late", out), 0U);
  EXPECT_FALSE(session.answer_has_body());
  EXPECT_EQ(out, "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_TRUE(session.keep_alive());
}

TEST_F(H1SessionTest, UnsizedAnswerOnHttp10IsRawAndCloses) {
  receive("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  std::string out;
  session.begin_answer(1, {}, {}, {}, false, out);
  EXPECT_EQ(session.append_body(1, "abc", out), 3U);
  session.end_answer(1, out);
  EXPECT_TRUE(out.ends_with("Connection: close\r\n\r\nabc"));
  EXPECT_FALSE(session.keep_alive());
}

TEST_F(H1SessionTest, Http10KeepAliveIsAnswered) {
  receive("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_NE(respond("x").find("Connection: keep-alive\r\n"), std::string::npos);
  EXPECT_TRUE(session.keep_alive());
  receive("GET / HTTP/1.0\r\n\r\n");
  EXPECT_NE(respond("x").find("Connection: close\r\n"), std::string::npos);
  EXPECT_FALSE(session.keep_alive());
}

TEST_F(H1SessionTest, HeadHasTheLengthAndNoBody) {
  receive("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(respond("hello"), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_TRUE(session.keep_alive());
}

TEST_F(H1SessionTest, HeadOfAnUnsizedAnswerHasNoLastChunk) {
  receive("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  std::string out;
  session.begin_answer(1, {}, {}, {}, false, out);
  EXPECT_FALSE(session.answer_has_body());
  EXPECT_EQ(session.append_body(1, "abc", out), 0U);
  session.end_answer(1, out);
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_TRUE(session.keep_alive());
}

TEST_F(H1SessionTest, StatusesWithoutABody) {
  for (const int status : {204, 304}) {
    receive(kGet);
    const std::string out = respond("hello", status);
    EXPECT_TRUE(out.ends_with("\r\n\r\n")) << status;
    EXPECT_EQ(out.find("Content-Length"), std::string::npos) << status;
    EXPECT_TRUE(session.keep_alive()) << status;
  }
}

TEST_F(H1SessionTest, TheNextAnswerForgetsTheLast) {
  receive("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  respond("hello");
  receive(kGet);
  EXPECT_TRUE(respond("hello").ends_with("\r\n\r\nhello"));
}

// -- Expect

const std::string kExpect = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";

TEST_F(H1SessionTest, ContinueIsWantedUntilItIsSent) {
  receive(kExpect);
  EXPECT_TRUE(session.wants_continue());
  std::string out;
  session.append_continue(out);
  EXPECT_EQ(out, "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_FALSE(session.wants_continue());
  receive("abc");
  respond();
  EXPECT_TRUE(session.keep_alive());
}

TEST_F(H1SessionTest, ContinueIsNotWantedOnceTheBodyComes) {
  receive(kExpect + "a");
  EXPECT_FALSE(session.wants_continue());
}

TEST_F(H1SessionTest, ContinueIsNotWantedOnceAnswered) {
  receive(kExpect);
  std::string out;
  session.begin_answer(1, {}, 0, {}, false, out);
  EXPECT_FALSE(session.wants_continue());
  session.end_answer(1, out);
  EXPECT_FALSE(session.wants_continue());
  EXPECT_FALSE(session.keep_alive());
}

TEST_F(H1SessionTest, ContinueIsNotWantedWithoutABody) {
  receive("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n");
  EXPECT_FALSE(session.wants_continue());
  respond();
  receive("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_FALSE(session.wants_continue());
}

TEST_F(H1SessionTest, ContinueIsKnownAsSoonAsTheHeadIs) {
  std::vector<bool> wanted;
  owner.head_hook = [&](StreamId) { wanted.push_back(session.wants_continue()); };
  context.limits.max_body = 3;
  receive("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n");
  respond();
  receive(kExpect + "abc");
  respond();
  receive("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(wanted, (std::vector<bool>{false, true, false}));
}

TEST_F(H1SessionTest, ContinueIsNotWantedForABodyOverTheLimit) {
  context.limits.max_body = 2;
  receive(kExpect);
  EXPECT_EQ(owner.log, "H!");
  EXPECT_EQ(owner.status, 413);
  EXPECT_FALSE(session.wants_continue());
}

}  // namespace
}  // namespace m0::http
