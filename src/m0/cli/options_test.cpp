#include "m0/cli/options.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "m0/cli/help.hpp"

namespace m0::cli {
namespace {

/// The root of the sources. A compiler cache may have made __FILE__ relative to the root of the build, which is three
/// folders above this program.
std::filesystem::path source_root() {
  std::filesystem::path here = __FILE__;
  if (here.is_relative()) {
    here = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().parent_path() / here;
  }
  return here.parent_path().parent_path().parent_path().parent_path().lexically_normal();
}

TEST(Options, NamesAndVariablesAreUnique) {
  std::set<std::string> seen;
  for (const Option& option : options_of(Door::Python)) {
    EXPECT_TRUE(seen.insert(option.flag()).second) << option.flag();
    if (!option.variable().empty()) {
      EXPECT_TRUE(seen.insert(option.variable()).second) << option.variable();
    }
    if (option.letter != 0) {
      EXPECT_TRUE(seen.insert(std::string(1, option.letter)).second) << option.letter;
    }
  }
}

TEST(Options, VariablesAreMadeFromNames) {
  for (const Option& option : options_of(Door::Python)) {
    if (option.name == "max-blocking-threads") {
      EXPECT_EQ(option.variable(), "M0_MAX_BLOCKING_THREADS");
    }
    if (option.name == "help") {
      EXPECT_EQ(option.variable(), "");
    }
  }
}

TEST(Options, EachHasItsHelpAndAValueNameWhereItTakesAValue) {
  for (const Option& option : options_of(Door::Python)) {
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_NE(option.help.back(), '.') << option.name;
    EXPECT_EQ(option.value_name.empty(), !option.takes_value()) << option.name;
    EXPECT_EQ(static_cast<bool>(option.set), option.kind != Option::Kind::Action) << option.name;
  }
}

TEST(Options, ADefaultIsAValueThatTheOptionTakes) {
  for (const Option& option : options_of(Door::Python)) {
    if (option.default_text.empty() || option.default_text == "none" ||
        option.default_text.find(' ') != std::string::npos)
      continue;
    Draft draft;
    const auto error = option.set(draft, option.default_text);
    EXPECT_FALSE(error) << option.name << ": " << error.value_or("");
  }
}

TEST(Options, ANativeProgramHasLanesAndBringsItsMounts) {
  const auto native = options_of(Door::Native);
  const auto has = [&](std::string_view name) { return std::ranges::count(native, name, &Option::name) == 1; };
  EXPECT_TRUE(has("lane"));
  EXPECT_TRUE(has("queue-timeout"));
  EXPECT_FALSE(has("mount"));
}

TEST(Options, ANativeProgramHasAllButThoseOfPython) {
  const auto all = options_of(Door::Python);
  const auto native = options_of(Door::Native);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count_if(all, [](const Option& o) { return !o.python_only; })),
            native.size());
  EXPECT_LT(native.size(), all.size());
}

TEST(Help, ListsEveryOptionInItsGroup) {
  const auto options = options_of(Door::Python);
  const std::string text = help_text(options, Door::Python, "m0serve");
  for (const Option& option : options) {
    const std::size_t group = text.find("\n" + std::string(group_title(option.group)) + ":\n");
    ASSERT_NE(group, std::string::npos);
    EXPECT_NE(text.find(option.flag(), group), std::string::npos) << option.name;
  }
}

TEST(Help, FitsATerminal) {
  std::istringstream lines(help_text(options_of(Door::Python), Door::Python, "m0serve"));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(Help, ThePageIsWhatTheTableSays) {
  const std::filesystem::path page = source_root() / "docs" / "options.md";
  const std::string expected = options_page(options_of(Door::Python));
  if (std::getenv("M0_UPDATE_DOCS") != nullptr) {
    std::filesystem::create_directories(page.parent_path());
    std::ofstream(page) << expected;
  }
  std::ostringstream committed;
  committed << std::ifstream(page).rdbuf();
  EXPECT_EQ(committed.str(), expected) << page << " is stale: run this test with M0_UPDATE_DOCS=1 and commit the page";
}

TEST(Help, ThePageEscapesWhatWouldEndACell) {
  Option option;
  option.name = "a";
  option.kind = Option::Kind::Value;
  option.value_name = "X|Y";
  option.help = "this|that";
  const std::vector<Option> table{option};
  EXPECT_THAT(options_page(table), ::testing::HasSubstr("| `--a X\\|Y` | `M0_A` |  | this\\|that |"));
}

}  // namespace
}  // namespace m0::cli
