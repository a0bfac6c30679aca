#include "m0/handler/hold.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace m0::handler {
namespace {

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

std::expected<std::optional<Hold>, std::string> read(const Fields& fields, http::FieldList* left = nullptr) {
  http::FieldList list;
  for (const auto& [name, value] : fields) list.add(name, value);
  auto hold = take_hold(list);
  if (left != nullptr) *left = list;
  return hold;
}

TEST(Hold, AnOrdinaryAnswerAsksForNone) {
  const auto hold = read({{"Content-Type", "text/html"}, {"Max-Forwards", "1"}, {"m0", "x"}});
  ASSERT_TRUE(hold);
  EXPECT_FALSE(*hold);
}

TEST(Hold, ReadsEveryField) {
  const auto hold = read({{"M0-Hold", "stream"},
                          {"M0-Channel", "news, chat"},
                          {"m0-channel", " sport "},
                          {"M0-Replay", "10"},
                          {"M0-Since", "0000000000ab-7"},
                          {"M0-Keep-Alive", "15"},
                          {"M0-Hold-Timeout", "3600"}});
  ASSERT_TRUE(hold && *hold);
  Hold expected;
  expected.channels = {"news", "chat", "sport"};
  expected.replay = 10;
  expected.since = pubsub::EventId{0xab, 7};
  expected.keep_alive = std::chrono::seconds(15);
  expected.timeout = std::chrono::hours(1);
  EXPECT_EQ(**hold, expected);
}

TEST(Hold, AWebSocketToo) {
  const auto hold = read({{"M0-Hold", "WebSocket"}, {"M0-Channel", "a"}});
  ASSERT_TRUE(hold && *hold);
  EXPECT_EQ((*hold)->kind, Hold::Kind::WebSocket);
}

TEST(Hold, TheServersOwnFieldsNeverReachAClient) {
  http::FieldList left;
  ASSERT_TRUE(read({{"M0-Channel", "a"}, {"X-Kept", "1"}, {"m0-anything", "b"}}, &left));
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].name, "X-Kept");
  EXPECT_FALSE(read({{"M0-Hold", "nonsense"}, {"X-Kept", "1"}, {"M0-Channel", "a"}}, &left));
  EXPECT_EQ(left.size(), 1u);
}

TEST(Hold, NamesMayBePercentEncodedAndStandOnce) {
  const auto hold = read({{"M0-Hold", "stream"}, {"M0-Channel", "a%2Cb, caf%C3%A9,, a%2cb,100%"}});
  ASSERT_TRUE(hold && *hold);
  EXPECT_EQ((*hold)->channels, (std::vector<std::string>{"a,b", "caf\xc3\xa9", "100%"}));
}

TEST(Hold, WhatIsWrongIsSaid) {
  const auto problem = [](const Fields& more) {
    Fields fields{{"M0-Hold", "stream"}, {"M0-Channel", "a"}};
    fields.insert(fields.end(), more.begin(), more.end());
    const auto hold = read(fields);
    return hold ? std::string() : hold.error();
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(read({{"M0-Hold", "poll"}, {"M0-Channel", "a"}}).error(), "M0-Hold must be stream or websocket");
  EXPECT_EQ(problem({{"M0-Channel", "a%00b"}}), "a channel's name has a control character");
  EXPECT_EQ(problem({{"M0-Channel", "%ff"}}), "a channel's name is not UTF-8");
  EXPECT_EQ(problem({{"M0-Channel", std::string(256, 'c')}}), "a channel's name is longer than 255 bytes");
  for (const std::string_view value : {"", "0", "-1", "1.5", "3601", "15s", "99999999999999999999"}) {
    EXPECT_EQ(problem({{"M0-Keep-Alive", value}}), "M0-Keep-Alive must be a whole number from 1 to 3600") << value;
  }
  EXPECT_NE(problem({{"M0-Hold-Timeout", "0"}}), "");
  EXPECT_NE(problem({{"M0-Replay", "1000001"}}), "");
  EXPECT_NE(problem({{"M0-Since", "yesterday"}}), "");
  EXPECT_NE(problem({{"M0-Since", "0000000000ab-7-end"}}), "");
  // Which of two floors would hold? None that is lower than the other.
  EXPECT_EQ(problem({{"M0-Since", "0000000000ab-7"}, {"m0-since", "0000000000ab-6"}}),
            "m0-since stands more than once");
  EXPECT_EQ(problem({{"M0-Hold", "stream"}}), "M0-Hold stands more than once");
  EXPECT_EQ(problem({{"M0-Chanel", "b"}}), "there is no response field M0-Chanel");
  EXPECT_EQ(read({{"M0-Hold", "stream"}}).error(), "M0-Hold needs at least one M0-Channel");
}

TEST(Hold, AConnectionHasSoManyChannels) {
  std::string list;
  for (std::size_t i = 0; i < kMaxChannels; ++i) list += fmt::format("c{},", i);
  EXPECT_TRUE(read({{"M0-Hold", "stream"}, {"M0-Channel", list}, {"M0-Channel", "c0"}}));
  EXPECT_FALSE(read({{"M0-Hold", "stream"}, {"M0-Channel", list}, {"M0-Channel", "one more"}}));
}

}  // namespace
}  // namespace m0::handler
