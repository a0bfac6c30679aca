#include "answer_reader.hpp"

#include <gtest/gtest.h>

namespace m0::bench {
namespace {

using State = AnswerReader::State;

constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-length:  5\r\nConnection: Keep-Alive\r\n\r\nhello";

TEST(AnswerReader, ReadsAnAnswerSplitAtEveryByte) {
  for (std::size_t split = 1; split < kAnswer.size(); ++split) {
    AnswerReader reader;
    ASSERT_EQ(reader.feed(kAnswer.substr(0, split)), State::Reading) << split;
    ASSERT_TRUE(reader.begun());
    ASSERT_EQ(reader.feed(kAnswer.substr(split)), State::Complete) << split;
    ASSERT_EQ(reader.status(), 200);
    ASSERT_FALSE(reader.closes());
  }
}

TEST(AnswerReader, ReadsTheNextAnswerAfterReset) {
  AnswerReader reader;
  ASSERT_EQ(reader.feed("HTTP/1.0 503 Busy\r\nContent-Length: 0\r\n\r\n"), State::Complete);
  EXPECT_EQ(reader.status(), 503);
  EXPECT_TRUE(reader.closes()) << "HTTP/1.0 closes unless it says otherwise";
  reader.reset();
  EXPECT_FALSE(reader.begun());
  ASSERT_EQ(reader.feed(kAnswer), State::Complete);
  EXPECT_EQ(reader.status(), 200);
  EXPECT_FALSE(reader.closes());
}

TEST(AnswerReader, SeesThatTheConnectionEnds) {
  AnswerReader reader;
  ASSERT_EQ(reader.feed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), State::Complete);
  EXPECT_TRUE(reader.closes());
}

TEST(AnswerReader, RefusesWhatItCannotMeasure) {
  for (const std::string_view bad : {
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n",
           "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
           "HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n",
           "ICY 200 OK\r\nContent-Length: 0\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc",
       }) {
    AnswerReader reader;
    EXPECT_EQ(reader.feed(bad), State::Bad) << bad;
  }
}

TEST(AnswerReader, BoundsTheHead) {
  AnswerReader reader;
  EXPECT_EQ(reader.feed("HTTP/1.1 200 OK\r\nX: " + std::string(17 * 1024, 'x')), State::Bad);
}

}  // namespace
}  // namespace m0::bench
