#include "m0/held/event_stream_encoding.hpp"

#include <gtest/gtest.h>

#include "m0/pubsub/event_log.hpp"

namespace m0::held {
namespace {

using Framing = EventStreamEncoding::Framing;
using pubsub::EventId;

constexpr EventId kId{0xab, 7};

std::string encoded(Framing framing, std::string_view data, std::string_view name = {}) {
  pubsub::EventLog log({.size = pubsub::kMinLogSize});
  EXPECT_TRUE(log.try_append({.channel = "c", .data = data, .name = name}));
  pubsub::Record record;
  EXPECT_EQ(log.read(0, record), pubsub::EventLog::Read::Ok);
  std::string out;
  EventStreamEncoding::of(framing).append(out, kId, record);
  return out;
}

TEST(EventStreamEncoding, AnEventIsABlock) {
  EXPECT_EQ(encoded(Framing::Plain, "hello"), "id: 0000000000ab-7\ndata: hello\n\n");
  EXPECT_EQ(encoded(Framing::Plain, "hello", "greeting"), "id: 0000000000ab-7\nevent: greeting\ndata: hello\n\n");
}

TEST(EventStreamEncoding, EachLineIsALineOfData) {
  const auto data = [](std::string_view text) {
    return encoded(Framing::Plain, text).substr(std::string_view("id: 0000000000ab-7\n").size());
  };
  EXPECT_EQ(data(""), "data: \n\n");
  EXPECT_EQ(data("a\nb"), "data: a\ndata: b\n\n");
  EXPECT_EQ(data("a\r\nb"), "data: a\ndata: b\n\n");
  EXPECT_EQ(data("a\rb"), "data: a\ndata: b\n\n");
  EXPECT_EQ(data("a\n\rb"), "data: a\ndata: \ndata: b\n\n");
  EXPECT_EQ(data("a\n"), "data: a\ndata: \n\n");
  EXPECT_EQ(data("\r\n"), "data: \ndata: \n\n");
  EXPECT_EQ(data("a\r"), "data: a\ndata: \n\n");
  // What looks like a field, or like the end of the block, is data.
  EXPECT_EQ(data("x\n\nid: forged\rretry: 1"), "data: x\ndata: \ndata: id: forged\ndata: retry: 1\n\n");
  EXPECT_EQ(data(" indented"), "data:  indented\n\n");
}

TEST(EventStreamEncoding, AChunkHasItsLength) {
  EXPECT_EQ(encoded(Framing::Chunked, "hello"), "20\r\nid: 0000000000ab-7\ndata: hello\n\n\r\n");
}

TEST(EventStreamEncoding, AGapSaysFromWhereToWhere) {
  std::string out;
  EXPECT_TRUE(EventStreamEncoding::of(Framing::Plain).append_gap(out, {0xab, 7}, {0xab, 19}));
  EXPECT_EQ(out,
            "id: 0000000000ab-19\nevent: m0-gap\n"
            "data: {\"from\":\"0000000000ab-7\",\"to\":\"0000000000ab-19\"}\n\n");
}

TEST(EventStreamEncoding, ACursorIsNoEvent) {
  std::string out;
  EventStreamEncoding::of(Framing::Plain).append_cursor(out, kId, 2000);
  EXPECT_EQ(out, ":\nretry: 2000\nid: 0000000000ab-7\n\n");
}

TEST(EventStreamEncoding, NothingIsNoChunk) {
  std::string out;
  EventStreamEncoding::of(Framing::Chunked).append_raw(out, "");
  EXPECT_EQ(out, "");
  EventStreamEncoding::of(Framing::Chunked).append_retry(out, 1);
  EXPECT_EQ(out, "a\r\nretry: 1\n\n\r\n");
}

}  // namespace
}  // namespace m0::held
