#include "m0/http/authority.hpp"

#include <gtest/gtest.h>

namespace m0::http {
namespace {

using namespace std::string_view_literals;

// What a whole request shows is in fields_test.cpp; here is what only a view of its own can show.
TEST(Authority, NeverReadsBehindItsView) {
  EXPECT_FALSE(is_authority("a%c4"sv.substr(0, 3)));
  EXPECT_FALSE(is_authority("a%c4"sv.substr(0, 2)));
  EXPECT_FALSE(is_authority("[::1]"sv.substr(0, 4)));
  EXPECT_TRUE(is_authority("a%c4:8"sv.substr(0, 4)));
}

TEST(Authority, BothDigitsOfAPercentAreHex) {
  EXPECT_TRUE(is_authority("%0f"));
  EXPECT_FALSE(is_authority("%g0"));
  EXPECT_FALSE(is_authority("%0g"));
}

TEST(Authority, NulEndsNothing) {
  EXPECT_FALSE(is_authority("a\0b"sv));
  EXPECT_FALSE(is_authority("[::1\0]"sv));
  EXPECT_FALSE(is_authority(""));
}

}  // namespace
}  // namespace m0::http
