#include "m0/held/origin.hpp"

#include <gtest/gtest.h>

#include "m0/held/config.hpp"

namespace m0::held {
namespace {

class OriginTest : public ::testing::Test {
 protected:
  bool passes(std::vector<http::Field> fields, std::vector<std::string> allowed = {}) {
    exchange_.request.authority = "example.com:8000";
    exchange_.request.fields = std::move(fields);
    return origin_passes(exchange_, allowed);
  }
  void from(std::initializer_list<std::uint8_t> address) {
    exchange_.peer = {};
    exchange_.peer.family = address.size() == 4 ? handler::PeerAddress::Family::V4 : handler::PeerAddress::Family::V6;
    std::copy(address.begin(), address.end(), exchange_.peer.bytes.begin());
  }

  handler::BodyBudget budget_{1 << 20, 1 << 20};
  handler::Exchange exchange_{budget_};
};

TEST_F(OriginTest, ARequestOfNoPagePasses) { EXPECT_TRUE(passes({})); }

TEST_F(OriginTest, ItIsTheRequestsOwn) {
  from({192, 0, 2, 1});
  EXPECT_TRUE(passes({{"Origin", "http://example.com:8000"}}));
  EXPECT_TRUE(passes({{"origin", "HTTP://Example.COM:8000"}}));
  for (const char* other : {"http://example.com", "https://example.com:8000", "http://evil.example:8000", "null", "",
                            "example.com:8000", "http://example.com:80000", "http://example.com:8000.evil.example",
                            "http://evil.example/http://example.com:8000", "://example.com:8000"}) {
    EXPECT_FALSE(passes({{"Origin", other}})) << other;
  }
}

TEST_F(OriginTest, ADefaultPortIsNoDifference) {
  from({192, 0, 2, 1});
  exchange_.request.authority = "example.com";
  exchange_.request.fields = {{"Origin", "http://example.com:80"}};
  EXPECT_TRUE(origin_passes(exchange_, {}));
  exchange_.request.fields = {{"Origin", "http://example.com:443"}};
  EXPECT_FALSE(origin_passes(exchange_, {}));
}

TEST_F(OriginTest, AProxyOnThisMachineIsBelieved) {
  const std::vector<http::Field> fields{{"Origin", "https://shop.example"},
                                        {"X-Forwarded-Proto", "http, https"},
                                        {"X-Forwarded-Host", "inner, shop.example"}};
  for (const auto& here : std::initializer_list<std::initializer_list<std::uint8_t>>{
           {127, 0, 0, 1},
           {127, 9, 9, 9},
           {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
           {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1}}) {
    from(here);
    EXPECT_TRUE(passes(fields));
  }
  exchange_.peer = {};  // a Unix socket
  EXPECT_TRUE(passes(fields));
  for (const auto& elsewhere : std::initializer_list<std::initializer_list<std::uint8_t>>{
           {192, 0, 2, 1},
           {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2},
           {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1}}) {
    from(elsewhere);
    EXPECT_FALSE(passes(fields));
  }
}

TEST_F(OriginTest, OthersAreAllowedByName) {
  from({192, 0, 2, 1});
  EXPECT_TRUE(passes({{"Origin", "https://a.example"}}, {"https://b.example", "https://a.example:443"}));
  EXPECT_FALSE(passes({{"Origin", "https://c.example"}}, {"https://b.example", "https://a.example"}));
  EXPECT_FALSE(passes({{"Origin", "null"}}, {"https://b.example"}));
  EXPECT_TRUE(passes({{"Origin", "null"}}, {"*"}));
}

TEST(OriginProblemTest, WhatCanBeAllowed) {
  for (const char* good : {"*", "https://a.example", "http://localhost:3000", "app://x"}) {
    EXPECT_EQ(origin_problem(good), "") << good;
  }
  for (const char* bad : {"", "a.example", "https://", "https://a.example/", "null", "://a"}) {
    EXPECT_NE(origin_problem(bad), "") << bad;
  }
}

}  // namespace
}  // namespace m0::held
