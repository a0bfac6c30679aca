#include "m0/cli/suggest.hpp"

#include <array>

namespace m0::cli {
namespace {

constexpr std::array<std::string_view, 10> kKnown{
    "bind",      "workers",    "blocking-threads",  "max-blocking-threads",
    "log-level", "access-log", "access-log-format", "max-connections",
    "app-dir",   "help"};

std::string nearest(std::string_view name) { return suggest(name, kKnown); }

TEST(Suggest, Distances) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", "abc"), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", "abd"), 1U);
  EXPECT_EQ(edit_distance("abc", "ac"), 1U);
  EXPECT_EQ(edit_distance("abc", "abxc"), 1U);
  EXPECT_EQ(edit_distance("abc", "acb"), 1U) << "two neighbours swapped are one mistake";
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Suggest, FindsWhatWasMistyped) {
  EXPECT_EQ(nearest("worker"), "workers");
  EXPECT_EQ(nearest("wrokers"), "workers");
  EXPECT_EQ(nearest("bnd"), "bind");
  EXPECT_EQ(nearest("loglevel"), "log-level");
  EXPECT_EQ(nearest("max-connection"), "max-connections");
  EXPECT_EQ(nearest("acess-log"), "access-log");
}

TEST(Suggest, FindsWhatWasCutShort) { EXPECT_EQ(nearest("max-con"), "max-connections"); }

TEST(Suggest, DoesNotChooseBetweenSeveral) { EXPECT_EQ(suggest("max", kKnown), ""); }

TEST(Suggest, KnowsTheWordsOfOtherServers) {
  EXPECT_EQ(nearest("threads"), "blocking-threads");
  EXPECT_EQ(nearest("chdir"), "app-dir");
  EXPECT_EQ(nearest("access-logfile"), "access-log");
  EXPECT_EQ(suggest("threads", std::array<std::string_view, 1>{"bind"}), "") << "not where the option does not exist";
}

TEST(Suggest, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(nearest("frobnicate"), "");
  EXPECT_EQ(nearest("x"), "");
  EXPECT_EQ(nearest(""), "");
}

}  // namespace
}  // namespace m0::cli
