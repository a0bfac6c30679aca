#include "m0/server/mount_table.hpp"

namespace m0::server {
namespace {

using ::testing::ElementsAre;

pool::LaneConfig lane(std::string name) {
  pool::LaneConfig config;
  config.name = std::move(name);
  return config;
}

/// target@mount-length lane, or "loop" for the lane; "none".
std::string at(const MountTable& table, std::string_view path) {
  const MountTable::Found found = table.find(path);
  if (found.route == nullptr) return "none";
  return std::to_string(found.route->target) + "@" + std::to_string(found.mount_length) + " " +
         (found.route->on_loop ? "loop" : table.lanes()[found.route->lane].name);
}

TEST(MountTable, OneApplicationHasEverything) {
  const MountTable table(Config{});
  for (const std::string_view path : {"/", "/a/b", "*", "/%41", "", "//"}) EXPECT_EQ(at(table, path), "0@0 default");
  EXPECT_EQ(table.lanes().size(), 1U);
  EXPECT_THAT(table.targets_of(0), ElementsAre(0));
}

TEST(MountTable, TheLongestPrefixWins) {
  Config config;
  config.mounts = {{"", 0, false, {}}, {"/shop", 1, false, {}}, {"/shop/admin", 2, false, {}}};
  const MountTable table(config);
  EXPECT_EQ(at(table, "/"), "0@0 default");
  EXPECT_EQ(at(table, "/shop"), "1@5 default");
  EXPECT_EQ(at(table, "/shop/"), "1@5 default");
  EXPECT_EQ(at(table, "/shop/cart"), "1@5 default");
  EXPECT_EQ(at(table, "/shop/admin"), "2@11 default");
  EXPECT_EQ(at(table, "/shop/admin/x"), "2@11 default");
  EXPECT_THAT(table.targets_of(0), ElementsAre(0, 1, 2));
}

TEST(MountTable, APrefixEndsWithASegment) {
  Config config;
  config.mounts = {{"", 0, false, {}}, {"/shop", 1, false, {}}};
  const MountTable table(config);
  EXPECT_EQ(at(table, "/shopping"), "0@0 default");
  EXPECT_EQ(at(table, "/sho"), "0@0 default");
  EXPECT_EQ(at(table, "/x/shop"), "0@0 default");
  EXPECT_EQ(at(table, "/Shop"), "0@0 default");
}

TEST(MountTable, AnEncodedPathIsTheSamePath) {
  Config config;
  config.mounts = {{"", 0, false, {}}, {"/shop", 1, false, {}}};
  const MountTable table(config);
  EXPECT_EQ(at(table, "/%73hop/x"), "1@7 default");
  EXPECT_EQ(at(table, "/%73%68op"), "1@9 default");
  EXPECT_EQ(at(table, "/shop%2Fx"), "1@5 default");
  EXPECT_EQ(at(table, "/shop%20x"), "0@0 default");
  EXPECT_EQ(at(table, "/shop/%zz"), "1@5 default");
}

TEST(MountTable, ALaneCoversAPrefixOfTheSameApplication) {
  Config config;
  config.lanes = {{"/reports", lane("/reports")}, {"/reports/quick", lane("/reports/quick")}};
  const MountTable table(config);
  EXPECT_EQ(at(table, "/"), "0@0 default");
  EXPECT_EQ(at(table, "/reports/2024"), "0@0 /reports");
  EXPECT_EQ(at(table, "/reports/quick"), "0@0 /reports/quick");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_THAT(table.targets_of(i), ElementsAre(0));
}

TEST(MountTable, LanesAndMountsMeet) {
  Config config;
  config.mounts = {{"", 0, false, {}}, {"/shop", 1, false, lane("/shop")}, {"/shop/api", 2, false, {}}};
  config.lanes = {{"/shop/slow", lane("/shop/slow")}};
  const MountTable table(config);
  EXPECT_EQ(at(table, "/shop/x"), "1@5 /shop");
  EXPECT_EQ(at(table, "/shop/slow/x"), "1@5 /shop/slow");
  EXPECT_EQ(at(table, "/shop/api/x"), "2@9 /shop");  // it brought no lane: it lies in its parent's
  EXPECT_EQ(at(table, "/x"), "0@0 default");
  ASSERT_EQ(table.lanes().size(), 3U);
  EXPECT_THAT(table.targets_of(0), ElementsAre(0));
  EXPECT_THAT(table.targets_of(1), ElementsAre(1));     // /shop/slow
  EXPECT_THAT(table.targets_of(2), ElementsAre(1, 2));  // /shop
}

TEST(MountTable, TheOperatorsLaneReplacesTheProgramsOwn) {
  Config config;
  config.mounts = {{"/shop", 0, false, lane("brought")}};
  config.lanes = {{"/shop", lane("/shop")}};
  const MountTable table(config);
  EXPECT_EQ(at(table, "/shop"), "0@5 /shop");
  ASSERT_EQ(table.lanes().size(), 1U) << "nobody is sent to the default lane";
  EXPECT_THAT(table.targets_of(0), ElementsAre(0));
}

TEST(MountTable, LanesThatNobodyIsSentToAreNone) {
  Config config;
  config.mounts = {{"/a", 0, false, lane("/a")}, {"/b", 1, true, {}}, {"/c", 2, false, lane("/c")}};
  config.lanes = {{"/b/x", lane("/b/x")}, {"/nobody", lane("/nobody")}};
  const MountTable table(config);
  ASSERT_EQ(table.lanes().size(), 2U);
  EXPECT_EQ(at(table, "/a/1"), "0@2 /a");
  EXPECT_EQ(at(table, "/b/x/1"), "1@2 loop");
  EXPECT_EQ(at(table, "/c"), "2@2 /c");
  config.mounts = {{"", 0, true, {}}};
  EXPECT_TRUE(MountTable(config).lanes().empty());
}

TEST(MountTable, WhatIsMountedOnTheLoopHasNoLane) {
  Config config;
  config.mounts = {{"", 0, false, {}}, {"/ping", 1, true, lane("unused")}};
  const MountTable table(config);
  EXPECT_EQ(at(table, "/ping"), "1@5 loop");
  EXPECT_EQ(table.lanes().size(), 1U);
  EXPECT_THAT(table.targets_of(0), ElementsAre(0));
}

TEST(MountTable, WithoutARootTheRestIsNobodys) {
  Config config;
  config.mounts = {{"/shop", 0, false, {}}};
  config.lanes = {{"/nobody", lane("/nobody")}};
  const MountTable table(config);
  EXPECT_EQ(at(table, "/"), "none");
  EXPECT_EQ(at(table, "*"), "none");
  EXPECT_EQ(at(table, "/nobody/x"), "none");
  EXPECT_EQ(table.lanes().size(), 1U);
  EXPECT_EQ(at(table, "/shop"), "0@5 default");
}

TEST(MountTable, SaysWhatIsWrongWithAPrefix) {
  EXPECT_EQ(prefix_problem("/shop"), "");
  EXPECT_EQ(prefix_problem(""), "");
  EXPECT_EQ(prefix_problem("/caf\xC3\xA9"), "");
  for (const std::string_view bad :
       {"shop", "/shop/", "/", "/a//b", "/a?b", "/a#b", "/a%20b", "/a b", "/a\x01", "/a/./b", "/a/../b"}) {
    EXPECT_NE(prefix_problem(bad), "") << bad;
  }
}

}  // namespace
}  // namespace m0::server
