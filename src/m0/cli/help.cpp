#include "m0/cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "m0/process/exit_codes.hpp"

namespace m0::cli {
namespace {

constexpr std::size_t kHelpColumn = 30;
constexpr std::size_t kWidth = 96;

std::string spelled(const Option& option) {
  std::string text = option.letter != 0 ? fmt::format("-{}, ", option.letter) : "";
  text += option.flag();
  if (option.takes_value()) text += fmt::format(" {}", option.value_name);
  return text;
}

/// Breaks `text` at spaces so that no line passes kWidth; each line after the first is indented.
void append_wrapped(std::string& out, std::string_view text) {
  std::size_t column = kHelpColumn;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (column != kHelpColumn && column + 1 + word.size() > kWidth) {
      out += '\n';
      out.append(kHelpColumn, ' ');
      column = kHelpColumn;
    } else if (column != kHelpColumn) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out += '\n';
}

template <class Visit>
void for_each_group(std::span<const Option> options, Visit visit) {
  for (std::size_t i = 0; i < kGroups; ++i) {
    const auto group = static_cast<Group>(i);
    std::vector<const Option*> members;
    for (const Option& option : options) {
      if (option.group == group) members.push_back(&option);
    }
    if (!members.empty()) visit(group, members);
  }
}

/// A value in a cell of a Markdown table.
std::string in_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

bool is_literal(std::string_view default_text) { return default_text.find(' ') == std::string_view::npos; }

}  // namespace

std::string version_text() { return "m0serve " M0_VERSION "\n"; }

std::string help_text(std::span<const Option> options, Door door, std::string_view program) {
  std::string out;
  if (door == Door::Python) {
    out += fmt::format("Usage: {0} [OPTIONS] MODULE[:ATTR]\n       {0} publish CHANNEL DATA ({0} publish --help)\n\n",
                       program);
    out +=
        "Serves a synchronous Python (WSGI) application. Without ATTR, 'application' and then 'app' are\n"
        "looked for in MODULE, then in MODULE.wsgi.\n";
  } else {
    out += fmt::format("Usage: {} [OPTIONS]\n", program);
  }
  for_each_group(options, [&](Group group, const std::vector<const Option*>& members) {
    out += fmt::format("\n{}:\n", group_title(group));
    for (const Option* option : members) {
      const std::string left = "  " + spelled(*option);
      out += left;
      if (left.size() + 2 > kHelpColumn) {
        out += '\n';
        out.append(kHelpColumn, ' ');
      } else {
        out.append(kHelpColumn - left.size(), ' ');
      }
      std::string text(option->help);
      if (!option->default_text.empty()) text += fmt::format(" [{}]", option->default_text);
      append_wrapped(out, text);
    }
  });
  out +=
      "\nEvery option is also read from the environment, --max-body from M0_MAX_BODY and so on; a flag wins.\n"
      "Times: 500ms, 30s, 2m, 1h; a plain number is seconds. Sizes: 64k, 64m, 1g; a plain number is bytes.\n";
  return out;
}

std::string options_page(std::span<const Option> options) {
  std::string out =
      "# Options\n\n"
      "<!-- Generated from the table in src/m0/cli/options.cpp; a test fails when this page is not what it says.\n"
      "     M0_UPDATE_DOCS=1 cli_test writes it again. -->\n\n"
      "`m0serve [OPTIONS] MODULE[:ATTR]`: options may stand on either side of the application. Each can also be set "
      "by its variable; a\n"
      "flag wins over a variable, a variable over the default. An empty variable is as good as none; a switch takes "
      "`1` or `0` there, a\n"
      "list separates its values by commas, or by spaces where its row says so. Times are `500ms`, `30s`, `2m`, `1h` "
      "(a "
      "plain number is\n"
      "seconds), sizes are `64k`, `64m`, `1g` (powers of 1024; a plain number is bytes).\n";
  for_each_group(options, [&](Group group, const std::vector<const Option*>& members) {
    out += fmt::format("\n## {}\n\n| flag | variable | default | meaning |\n|---|---|---|---|\n", group_title(group));
    for (const Option* option : members) {
      std::string variables = option->variable().empty() ? "" : fmt::format("`{}`", option->variable());
      if (!option->other_variable.empty()) variables += fmt::format(", then `{}`", option->other_variable);
      std::string value(option->default_text);
      if (!value.empty() && is_literal(value)) value = fmt::format("`{}`", value);
      out += fmt::format("| `{}` | {} | {} | {} |\n", in_cell(spelled(*option)), variables, in_cell(value),
                         in_cell(option->help));
    }
  });
  out += fmt::format(
      "\n## Exit codes\n\n| code | meaning |\n|---|---|\n"
      "| {} | a clean stop, also one whose graceful time expired or that a second signal cut short |\n"
      "| {} | the application failed to load, or could not be kept running |\n"
      "| {} | a flag or a value is wrong |\n"
      "| {} | the configuration as a whole cannot work here: address in use, no permission, bad path |\n",
      process::kExitClean, process::kExitFailed, process::kExitUsage, process::kExitConfig);
  return out;
}

}  // namespace m0::cli
