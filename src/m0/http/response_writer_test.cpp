// The head of an answer: RFC 9112 sections 4, 6 and 9, RFC 9110 6.6.1, 7.6.1, 8.6 and section 15.

#include "m0/http/response_writer.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <string>

namespace m0::http {
namespace {

ResponseHead answer(int status, std::initializer_list<Field> fields) {
  ResponseHead head;
  head.status = status;
  for (const Field& field : fields) head.fields.add(field.name, field.value);
  return head;
}

struct Written {
  std::string bytes;
  AnswerFraming framing;
  bool close;
};

Written write(const ResponseHead& head, BodyLength length, AnswerTo to = {}, const AnswerContext& context = {},
              bool close = false) {
  Written written{};
  const AnswerStarted started = write_head(head, length, to, context, close, written.bytes);
  written.framing = started.framing;
  written.close = started.close;
  return written;
}

constexpr AnswerTo kHttp10 = {.http10 = true, .keep_alive = false};
constexpr AnswerTo kHttp10Kept = {.http10 = true};
constexpr AnswerTo kHead = {.head_method = true};

TEST(ResponseWriter, Sized) {
  const Written written = write(answer(200, {{"Content-Type", "text/plain"}}), 5);
  EXPECT_EQ(written.bytes, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(written.framing, AnswerFraming::Length);
  EXPECT_FALSE(written.close);
}

TEST(ResponseWriter, AppendsToWhatIsThere) {
  std::string out = "before";
  write_head(answer(200, {}), 0, {}, {}, false, out);
  EXPECT_EQ(out, "beforeHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

TEST(ResponseWriter, LengthsOfAllSizes) {
  EXPECT_NE(write(answer(200, {}), 10).bytes.find("Content-Length: 10\r\n"), std::string::npos);
  EXPECT_NE(write(answer(200, {}), std::numeric_limits<std::uint64_t>::max())
                .bytes.find("Content-Length: 18446744073709551615\r\n"),
            std::string::npos);
}

TEST(ResponseWriter, UnsizedIsChunked) {
  const Written written = write(answer(200, {}), {});
  EXPECT_EQ(written.bytes, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(written.framing, AnswerFraming::Chunked);
}

TEST(ResponseWriter, UnsizedOnHttp10EndsWithTheConnection) {
  const Written written = write(answer(200, {}), {}, kHttp10Kept);
  EXPECT_EQ(written.bytes, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(written.framing, AnswerFraming::Close);
  EXPECT_TRUE(written.close);
}

TEST(ResponseWriter, Http10SaysWhatBecomesOfTheConnection) {
  EXPECT_EQ(write(answer(200, {}), 0, kHttp10).bytes,
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(write(answer(200, {}), 0, kHttp10Kept).bytes,
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
}

TEST(ResponseWriter, EachReasonToClose) {
  const std::string closed = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(write(answer(200, {}), 0, {.keep_alive = false}).bytes, closed);
  EXPECT_EQ(write(answer(200, {}), 0, {}, {.date = {}, .server = {}, .stopping = true}).bytes, closed);
  EXPECT_EQ(write(answer(200, {}), 0, {}, {}, true).bytes, closed);
  EXPECT_EQ(write(answer(200, {{"Connection", "close"}}), 0).bytes, closed);
  EXPECT_EQ(write(answer(200, {{"connection", "x-a, Close"}}), 0).bytes, closed);
  EXPECT_TRUE(write(answer(200, {{"connection", "x-a, Close"}}), 0).close);
  EXPECT_FALSE(write(answer(200, {{"Connection", "keep-alive"}}), 0).close);
}

TEST(ResponseWriter, ReasonPhrases) {
  ResponseHead head = answer(404, {});
  EXPECT_TRUE(write(head, 0).bytes.starts_with("HTTP/1.1 404 Not Found\r\n"));
  head.reason = "Gone Fishing";
  EXPECT_TRUE(write(head, 0).bytes.starts_with("HTTP/1.1 404 Gone Fishing\r\n"));
  EXPECT_TRUE(write(answer(299, {}), 0).bytes.starts_with("HTTP/1.1 299 Unknown\r\n"));
}

TEST(ResponseWriter, OneDateAndOneServer) {
  const AnswerContext context = {.date = "Sun, 06 Nov 1994 08:49:37 GMT", .server = "m0serve"};
  EXPECT_EQ(write(answer(200, {}), 0, {}, context).bytes,
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: m0serve\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(write(answer(200, {{"date", "D"}, {"SERVER", "S"}}), 0, {}, context).bytes,
            "HTTP/1.1 200 OK\r\ndate: D\r\nSERVER: S\r\nContent-Length: 0\r\n\r\n");
}

TEST(ResponseWriter, FieldsAboutTheConnectionAreNotTheApplications) {
  const ResponseHead head = answer(200, {{"Connection", "X-Secret"},
                                         {"Keep-Alive", "timeout=5"},
                                         {"Transfer-Encoding", "chunked"},
                                         {"upgrade", "h2c"},
                                         {"Proxy-Connection", "keep-alive"},
                                         {"TE", "trailers"},
                                         {"Trailer", "X"},
                                         {"X-Kept", "yes"}});
  EXPECT_EQ(write(head, 3).bytes, "HTTP/1.1 200 OK\r\nX-Kept: yes\r\nContent-Length: 3\r\n\r\n");
}

TEST(ResponseWriter, UpgradeRequiredNamesTheProtocol) {
  EXPECT_EQ(write(answer(426, {{"Upgrade", "websocket"}}), 0).bytes,
            "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nContent-Length: 0\r\nConnection: upgrade\r\n\r\n");
  EXPECT_TRUE(write(answer(426, {{"Upgrade", "websocket"}}), 0, {}, {}, true)
                  .bytes.ends_with("Connection: close, upgrade\r\n\r\n"));
}

TEST(ResponseWriter, ContentLengthIsWhatTheBodyIs) {
  EXPECT_EQ(write(answer(200, {{"Content-Length", "3"}}), 3).bytes, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(write(answer(200, {{"Content-Length", "9"}}), 3).bytes, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(write(answer(200, {{"content-length", "9"}}), {}).bytes,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(ResponseWriter, HeadKeepsTheLengthAndHasNoBody) {
  const Written declared = write(answer(200, {{"Content-Length", "1234"}}), 0, kHead);
  EXPECT_EQ(declared.bytes, "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n");
  EXPECT_EQ(declared.framing, AnswerFraming::None);
  EXPECT_EQ(write(answer(200, {}), 7, kHead).bytes, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
  EXPECT_EQ(write(answer(200, {}), 0, kHead).bytes, "HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(write(answer(200, {}), {}, kHead).bytes, "HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(write(answer(200, {{"Content-Length", "nine"}}), 0, kHead).bytes, "HTTP/1.1 200 OK\r\n\r\n");
}

TEST(ResponseWriter, NoContentHasNoLength) {
  const Written written = write(answer(204, {{"Content-Length", "5"}}), 5);
  EXPECT_EQ(written.bytes, "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(written.framing, AnswerFraming::None);
  EXPECT_EQ(write(answer(204, {}), {}).bytes, "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(write(answer(204, {{"Content-Length", "5"}}), 0, kHead).bytes, "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(ResponseWriter, NotModifiedMayNameALengthButHasNoBody) {
  EXPECT_EQ(write(answer(304, {{"ETag", "\"a\""}}), 5).bytes, "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n");
  const Written written = write(answer(304, {{"Content-Length", "5"}}), 0);
  EXPECT_EQ(written.bytes, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(written.framing, AnswerFraming::None);
}

TEST(ResponseWriter, UnsizedWithoutABodyDoesNotClose) {
  EXPECT_FALSE(write(answer(200, {}), {}, {.http10 = true, .head_method = true}).close);
  EXPECT_FALSE(write(answer(304, {}), {}, kHttp10Kept).close);
}

TEST(ResponseWriter, Chunks) {
  std::string out;
  append_chunk("abc", out);
  EXPECT_EQ(out, "3\r\nabc\r\n");
  out.clear();
  append_chunk("", out);
  EXPECT_EQ(out, "");
  append_chunk(std::string(0x1f0a, 'x'), out);
  EXPECT_TRUE(out.starts_with("1f0a\r\nx"));
  EXPECT_EQ(out.size(), 4U + 2 + 0x1f0a + 2);
}

TEST(ResponseWriter, RoomIsEnoughForTheLongestOfEverything) {
  // Many long fields, and every line of ours at its longest: a sanitizer watches the write.
  ResponseHead head = answer(426, {{"Upgrade", "websocket"}});
  head.reason = std::string(300, 'r');
  for (int i = 0; i < 50; ++i) head.fields.add("N", std::string(static_cast<std::size_t>(i), 'v'));
  const AnswerContext context = {.date = "Sun, 06 Nov 1994 08:49:37 GMT", .server = "m0serve/0.1.0"};
  const Written written = write(head, std::numeric_limits<std::uint64_t>::max(), kHttp10Kept, context);
  EXPECT_TRUE(written.bytes.ends_with("Connection: keep-alive, upgrade\r\n\r\n"));
  EXPECT_NE(written.bytes.find("\r\nN: " + std::string(49, 'v') + "\r\n"), std::string::npos);
}

}  // namespace
}  // namespace m0::http
