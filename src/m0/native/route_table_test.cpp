#include "m0/native/route_table.hpp"

#include <stdexcept>

namespace m0::native {
namespace {

/// "index name=value ..." or the methods that are allowed, or "404".
std::string ask(const RouteTable& table, std::string_view method, std::string_view path) {
  const RouteTable::Match match = table.match(method, path);
  if (match.index == RouteTable::Match::kNone) return match.allow.empty() ? "404" : match.allow;
  std::string text = std::to_string(match.index);
  for (const auto& param : match.params) text += " " + std::string(param.name) + "=" + param.value;
  return text;
}

RouteTable table_of(std::initializer_list<std::pair<std::string_view, std::string_view>> routes) {
  RouteTable table;
  for (const auto& [method, pattern] : routes) table.add(method, pattern);
  return table;
}

TEST(RouteTable, MatchesLiteralsExactly) {
  const RouteTable table = table_of({{"GET", "/"}, {"GET", "/items"}, {"GET", "/items/"}, {"GET", "/items/new"}});
  EXPECT_EQ(ask(table, "GET", "/"), "0");
  EXPECT_EQ(ask(table, "GET", "/items"), "1");
  EXPECT_EQ(ask(table, "GET", "/items/"), "2");
  EXPECT_EQ(ask(table, "GET", "/items/new"), "3");
  for (const std::string_view path : {"/item", "/items/new/", "/items//new", "//", "/Items", "*", "", "items"}) {
    EXPECT_EQ(ask(table, "GET", path), "404") << path;
  }
}

TEST(RouteTable, NamesParts) {
  const RouteTable table = table_of({{"GET", "/items/:id"}, {"GET", "/items/:id/files/:file"}});
  EXPECT_EQ(ask(table, "GET", "/items/7"), "0 id=7");
  EXPECT_EQ(ask(table, "GET", "/items/7/files/a"), "1 id=7 file=a");
  EXPECT_EQ(ask(table, "GET", "/items/"), "404") << "a name stands for a part that is there";
  EXPECT_EQ(ask(table, "GET", "/items//files/a"), "404");
}

TEST(RouteTable, DecodesEachPartByItself) {
  const RouteTable table = table_of({{"GET", "/caf\xC3\xA9/:id"}});
  EXPECT_EQ(ask(table, "GET", "/caf%C3%A9/a%2Fb%20c"), "0 id=a/b c");
  EXPECT_EQ(ask(table, "GET", "/caf%c3%a9/%3Aid"), "0 id=:id");
  EXPECT_EQ(ask(table, "GET", "/caf\xC3\xA9%2Fx"), "404");
}

TEST(RouteTable, TheRestOfAPath) {
  const RouteTable table = table_of({{"GET", "/files/*path"}, {"GET", "/files/:one"}});
  EXPECT_EQ(ask(table, "GET", "/files/a"), "1 one=a");
  EXPECT_EQ(ask(table, "GET", "/files/a/b/c"), "0 path=a/b/c");
  EXPECT_EQ(ask(table, "GET", "/files/"), "0 path=");
  EXPECT_EQ(ask(table, "GET", "/files"), "404");
}

TEST(RouteTable, LiteralsComeFirstAndTheSearchComesBack) {
  const RouteTable table = table_of({{"GET", "/:a/x"}, {"GET", "/lit/y"}, {"GET", "/lit/:b"}, {"GET", "/*rest"}});
  EXPECT_EQ(ask(table, "GET", "/lit/y"), "1");
  EXPECT_EQ(ask(table, "GET", "/lit/x"), "2 b=x");
  EXPECT_EQ(ask(table, "GET", "/other/x"), "0 a=other");
  EXPECT_EQ(ask(table, "GET", "/other/z"), "3 rest=other/z");
  EXPECT_EQ(ask(table, "GET", "/lit/y/z"), "3 rest=lit/y/z");
}

TEST(RouteTable, AnotherMethodIsA405WithAllOfThem) {
  const RouteTable table =
      table_of({{"GET", "/items/:id"}, {"DELETE", "/items/:id"}, {"POST", "/items/new"}, {"PUT", "/*rest"}});
  EXPECT_EQ(ask(table, "PATCH", "/items/7"), "DELETE, GET, HEAD, OPTIONS, PUT");
  EXPECT_EQ(ask(table, "PATCH", "/items/new"), "DELETE, GET, HEAD, OPTIONS, POST, PUT");
  EXPECT_EQ(ask(table, "DELETE", "/items/new"), "1 id=new") << "the literal has no such method, the name has";
  EXPECT_EQ(ask(table, "get", "/items/7"), "DELETE, GET, HEAD, OPTIONS, PUT") << "methods know their case";
}

TEST(RouteTable, HeadIsAnsweredByGet) {
  const RouteTable table = table_of({{"GET", "/a"}, {"HEAD", "/a"}, {"GET", "/b"}, {"POST", "/c"}});
  EXPECT_EQ(ask(table, "HEAD", "/a"), "1");
  EXPECT_EQ(ask(table, "HEAD", "/b"), "2");
  EXPECT_EQ(ask(table, "HEAD", "/c"), "OPTIONS, POST");
}

TEST(RouteTable, RefusesWhatCannotBe) {
  const auto refused = [](std::string_view method, std::string_view pattern) {
    RouteTable table = table_of({{"GET", "/a"}, {"GET", "/x/:id"}});
    try {
      table.add(method, pattern);
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused("GET", "/a"));
  EXPECT_TRUE(refused("GET", "/x/:other")) << "the same pattern by another name";
  EXPECT_FALSE(refused("POST", "/a"));
  EXPECT_TRUE(refused("GET", "b"));
  EXPECT_TRUE(refused("GET", ""));
  EXPECT_TRUE(refused("", "/b"));
  EXPECT_TRUE(refused("G T", "/b"));
  EXPECT_TRUE(refused("GET", "/:"));
  EXPECT_TRUE(refused("GET", "/*"));
  EXPECT_TRUE(refused("GET", "/*rest/b"));
  EXPECT_TRUE(refused("GET", "/:a/:a"));
}

TEST(RouteTable, NothingIsA404) { EXPECT_EQ(ask(RouteTable(), "GET", "/"), "404"); }

}  // namespace
}  // namespace m0::native
