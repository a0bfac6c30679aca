#include "endpoint.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace m0::bench {
namespace {

TEST(Endpoint, IsAPortAndATarget) {
  const Endpoint found = Endpoint::parse("http://127.0.0.1:8000/sub?channel=a");
  EXPECT_EQ(found.port, 8000);
  EXPECT_EQ(found.target, "/sub?channel=a");
}

TEST(Endpoint, IsNothingElse) {
  for (const char* url : {"", "http://127.0.0.1:8000", "http://127.0.0.1/", "http://127.0.0.1:0/",
                          "http://127.0.0.1:70000/", "https://127.0.0.1:1/", "http://localhost:1/"}) {
    EXPECT_THROW(Endpoint::parse(url), std::invalid_argument) << url;
  }
}

}  // namespace
}  // namespace m0::bench
