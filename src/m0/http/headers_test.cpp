#include "m0/http/headers.hpp"

#include <gtest/gtest.h>

namespace m0::http {
namespace {

using namespace std::string_view_literals;

TEST(Headers, TokensAndValues) {
  EXPECT_TRUE(is_token("Content-Type"));
  EXPECT_FALSE(is_token(""));
  EXPECT_FALSE(is_token("a b"));
  EXPECT_FALSE(is_token("a:"));
  EXPECT_TRUE(is_field_value(""));
  EXPECT_TRUE(is_field_value("a\tb \xff"));
  EXPECT_FALSE(is_field_value("a\r\nb"));
  EXPECT_FALSE(is_field_value("a\nb"));
  EXPECT_FALSE(is_field_value("a\0b"sv));
  EXPECT_FALSE(is_field_value("\x7f"));
}

TEST(Headers, ListKeepsOrderAndFindsByAnyCase) {
  FieldList list;
  EXPECT_TRUE(list.empty());
  list.add("Set-Cookie", "a=1");
  list.add("X", "");
  list.add("set-cookie", "b=2");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].name, "Set-Cookie");
  EXPECT_EQ(list[2].value, "b=2");
  EXPECT_EQ(list.find("SET-COOKIE"), "a=1");
  EXPECT_NE(list.find("x").data(), nullptr);
  EXPECT_EQ(list.find("y").data(), nullptr);
}

TEST(Headers, ListRemovesEveryOneOfAName) {
  FieldList list;
  list.add("A", "1");
  list.add("B", "2");
  list.add("a", "3");
  EXPECT_EQ(list.remove("A"), 2U);
  EXPECT_EQ(list.remove("A"), 0U);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].value, "2");
  list.clear();
  EXPECT_TRUE(list.empty());
  list.add("C", "4");
  EXPECT_EQ(list[0].name, "C");
}

}  // namespace
}  // namespace m0::http
