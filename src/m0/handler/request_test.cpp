#include "m0/handler/request.hpp"

namespace m0::handler {
namespace {

class RequestTest : public ::testing::Test {
 protected:
  BodyBudget budget_;
  Exchange exchange_{budget_};
};

TEST_F(RequestTest, TheMountAndWhatIsBelow) {
  exchange_.request.path = "/%73hop/cart";
  const Request request(exchange_);
  EXPECT_EQ(request.mount(), "");
  EXPECT_EQ(request.path(), "/%73hop/cart");
  exchange_.mount_length = 7;
  EXPECT_EQ(request.mount(), "/%73hop");
  EXPECT_EQ(request.path(), "/cart");
  exchange_.request.path = "/%73hop";
  EXPECT_EQ(request.path(), "/");
}

TEST_F(RequestTest, ValuesOfTheQuery) {
  exchange_.request.query = "a=1&b=x+y%26z&&flag&a=2&%63=3&d==&e=";
  const Request request(exchange_);
  EXPECT_EQ(request.query_value("a"), "1");
  EXPECT_EQ(request.query_value("b"), "x y&z");
  EXPECT_EQ(request.query_value("flag"), "");
  EXPECT_EQ(request.query_value("c"), "3");
  EXPECT_EQ(request.query_value("d"), "=");
  EXPECT_EQ(request.query_value("e"), "");
  EXPECT_EQ(request.query_value("f"), std::nullopt);
  exchange_.request.query = "";
  EXPECT_EQ(request.query_value(""), std::nullopt);
}

TEST_F(RequestTest, ABodyInMemoryAndInAFile) {
  const Request request(exchange_);
  EXPECT_EQ(request.body(), "");
  EXPECT_EQ(request.whole_body(), "");
  ASSERT_EQ(exchange_.body.append("hello"), BodyAppend::Ok);
  EXPECT_EQ(request.body(), "hello");
  EXPECT_EQ(request.whole_body(), "hello");
  ASSERT_EQ(exchange_.body.append(std::string(300'000, 'x')), BodyAppend::Ok);
  EXPECT_EQ(request.body_size(), 300'005U);
  EXPECT_EQ(request.body(), "");
  EXPECT_EQ(request.whole_body(), "hello" + std::string(300'000, 'x'));
}

TEST_F(RequestTest, FieldsAndParams) {
  exchange_.request.fields = {{"X-One", "1"}, {"x-one", "2"}};
  const Request request(exchange_);
  EXPECT_EQ(request.header("X-ONE"), "1");
  EXPECT_EQ(request.header("X-Two"), "");
  EXPECT_EQ(request.fields().size(), 2U);
  EXPECT_EQ(request.param("id"), "");
  const std::vector<Request::Param> params{{"id", "7"}, {"file", "a/b"}};
  const Request routed = request.with_params(params);
  EXPECT_EQ(routed.param("id"), "7");
  EXPECT_EQ(routed.param("file"), "a/b");
  EXPECT_EQ(routed.param("fil"), "");
}

}  // namespace
}  // namespace m0::handler
