#pragma once
// The one table of options: each binds a flag, a variable, a default and a line of help to one member.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "m0/cli/invocation.hpp"

namespace m0::cli {

enum class Group : std::uint8_t {
  Application,
  Listening,
  Processes,
  Threads,
  Limits,
  Timeouts,
  Realtime,
  Logging,
  General
};
[[nodiscard]] std::string_view group_title(Group group) noexcept;
inline constexpr std::size_t kGroups = 9;

/// An invocation while it is put together: what several options decide together is kept apart until all are read.
struct Draft {
  Invocation invocation;
  std::vector<std::string> binds;
  std::optional<std::string> host;
  std::optional<unsigned> port;
  std::optional<unsigned> threads;
  std::optional<unsigned> max_threads;
};

/// A row of the table. Constant after the table is made; any thread.
struct Option {
  enum class Kind : std::uint8_t {
    Value,   // --flag VALUE, the last one counts
    List,    // --flag VALUE, all of them; in the variable separated by commas, or by spaces where `spaced`
    Switch,  // --flag
    Action,  // --flag, has no variable: --help, --version
  };
  Group group = Group::General;
  std::string_view name;        // without the dashes
  char letter = 0;              // of the short form
  std::string_view value_name;  // as in the help: "ADDRESS"
  Kind kind = Kind::Value;
  std::string_view help;
  std::string default_text;         // empty: nothing to tell
  std::string_view other_variable;  // read after the option's own
  bool python_only = false;
  bool spaced = false;  // its values hold commas
  /// Takes one value; the error is what is wrong with it.
  std::function<std::optional<std::string>(Draft&, std::string_view)> set;

  [[nodiscard]] std::string flag() const;
  /// M0_<NAME>; empty for an Action.
  [[nodiscard]] std::string variable() const;
  [[nodiscard]] bool takes_value() const noexcept { return kind == Kind::Value || kind == Kind::List; }
};

/// In the order of the help.
[[nodiscard]] std::vector<Option> options_of(Door door);

}  // namespace m0::cli
