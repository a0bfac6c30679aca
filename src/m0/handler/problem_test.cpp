#include "m0/handler/problem.hpp"

namespace m0::handler {
namespace {

TEST(Problem, IsAJsonObject) {
  Response response;
  response.body.bytes = "old";
  make_problem(404, "no \"report\"\nhere", response);
  EXPECT_EQ(response.head.status, 404);
  EXPECT_EQ(response.head.fields.find("Content-Type"), "application/problem+json");
  EXPECT_EQ(response.body.bytes,
            "{\"status\":404,\"title\":\"Not Found\",\"detail\":\"no \\\"report\\\"\\u000ahere\"}\n");
}

TEST(Problem, NeedsNoDetail) {
  Response response;
  make_problem(405, "", response);
  EXPECT_EQ(response.body.bytes, "{\"status\":405,\"title\":\"Method Not Allowed\"}\n");
}

TEST(Problem, APageIsPlainText) {
  Response response;
  make_error_page(503, response);
  EXPECT_EQ(response.body.bytes, "503 Service Unavailable\n");
  EXPECT_EQ(response.head.fields.find("Content-Type"), "text/plain; charset=utf-8");
}

}  // namespace
}  // namespace m0::handler
