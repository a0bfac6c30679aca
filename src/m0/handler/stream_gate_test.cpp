#include "m0/handler/stream_gate.hpp"

namespace m0::handler {
namespace {

Response stream() {
  Response response;
  response.head.fields.add("X-Own", "1");
  response.body.kind = ResponseBody::Kind::Stream;
  response.body.producer = [](std::string&) { return Produced::Last; };
  return response;
}

TEST(StreamGate, OnlyTheLoopDrainsAStream) {
  for (const AnsweredBy by : kAllAnswerers) {
    Response response = stream();
    const bool refused = refuse_stream(by, response);
    EXPECT_EQ(refused, !can_stream(by));
    EXPECT_EQ(response.head.status, refused ? 409 : 200);
    EXPECT_EQ(static_cast<bool>(response.body.producer), !refused);
  }
  EXPECT_TRUE(can_stream(AnsweredBy::Loop));
  EXPECT_FALSE(can_stream(AnsweredBy::Pool));
}

TEST(StreamGate, SaysWhyInAProblem) {
  Response response = stream();
  ASSERT_TRUE(refuse_stream(AnsweredBy::Pool, response));
  EXPECT_EQ(response.head.fields.find("Content-Type"), "application/problem+json");
  EXPECT_EQ(response.head.fields.find("X-Own"), std::string_view{});
  EXPECT_EQ(response.body.kind, ResponseBody::Kind::Bytes);
  EXPECT_NE(response.body.bytes.find("LoopHandler"), std::string::npos) << response.body.bytes;
}

TEST(StreamGate, LeavesOtherAnswersAlone) {
  for (const AnsweredBy by : kAllAnswerers) {
    for (const auto kind : {ResponseBody::Kind::Bytes, ResponseBody::Kind::File, ResponseBody::Kind::Window}) {
      Response response;
      response.body.kind = kind;
      EXPECT_FALSE(refuse_stream(by, response));
      EXPECT_EQ(response.head.status, 200);
    }
  }
}

}  // namespace
}  // namespace m0::handler
