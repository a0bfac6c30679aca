#include "m0/cli/parse.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "m0/base/bytes.hpp"
#include "m0/cli/help.hpp"
#include "m0/cli/lane_words.hpp"
#include "m0/cli/options.hpp"
#include "m0/cli/suggest.hpp"
#include "m0/process/exit_codes.hpp"

namespace m0::cli {
namespace {

/// Words that are no application. The command publish never comes here: the package does it without this module.
struct Command {
  std::string_view name;
  std::string_view problem;
};
constexpr std::array kCommands{
    Command{"publish", "comes first: publish CHANNEL DATA"},
    Command{"top", "is not in this version yet"},
};

/// What a variable says to an option.
std::vector<std::string_view> values_of(const Option& option, std::string_view text) {
  if (option.kind != Option::Kind::List) return {base::trim_ows(text)};
  constexpr std::string_view kSpaces = " \t\r\n";
  std::vector<std::string_view> values;
  for (bool last = false; !last;) {
    const std::size_t end = text.find_first_of(option.spaced ? kSpaces : ",");
    last = end == std::string_view::npos;
    const std::string_view value = base::trim_ows(text.substr(0, end));
    // Of spaces there may be more than one, in a file of lines also at the ends.
    if (!option.spaced || !value.empty()) values.push_back(value);
    if (!last) text.remove_prefix(end + 1);
  }
  return values;
}

class Parser {
 public:
  Parser(const Environment& environment, Door door, std::string_view program)
      : environment_(environment), door_(door), program_(program), options_(options_of(door)) {}

  std::expected<Invocation, Exit> parse(std::span<const std::string> words) {
    std::string problem = read_words(words);
    if (given("help")) return std::unexpected(Exit{process::kExitClean, help_text(options_, door_, program_), true});
    if (given("version")) return std::unexpected(Exit{process::kExitClean, version_text(), true});
    if (problem.empty()) problem = read_values();
    if (problem.empty()) problem = decide_binds();
    draft_.invocation.config.control_inherited = !given("control");
    if (problem.empty()) problem = decide_threads();
    if (problem.empty()) problem = check_lanes();
    if (!problem.empty()) {
      return std::unexpected(Exit{process::kExitUsage, fmt::format("{}: {}\n", program_, problem), false});
    }
    return std::move(draft_.invocation);
  }

 private:
  [[nodiscard]] const char* variable(const std::string& name) const {
    const char* value = environment_(name.c_str());
    return value != nullptr && *value != '\0' ? value : nullptr;
  }

  [[nodiscard]] std::size_t index_of(std::string_view name) const {
    return static_cast<std::size_t>(
        std::ranges::find_if(options_, [&](const Option& option) { return option.name == name; }) - options_.begin());
  }
  [[nodiscard]] bool is_flag(std::string_view word) const {
    return word.starts_with("--") && index_of(word.substr(2)) < options_.size();
  }
  [[nodiscard]] bool given(std::string_view name) const { return !flags_[index_of(name)].empty(); }

  /// Sorts the words into flags and the application; the only place that CLI11 is asked.
  std::string read_words(std::span<const std::string> words) {
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    std::vector<CLI::Option*> parsed;
    for (const Option& option : options_) {
      const std::string names =
          option.letter != 0 ? fmt::format("-{},{}", option.letter, option.flag()) : option.flag();
      if (option.takes_value()) {
        CLI::Option* added = app.add_option(names);
        added->expected(1)->multi_option_policy(option.kind == Option::Kind::List ? CLI::MultiOptionPolicy::TakeAll
                                                                                  : CLI::MultiOptionPolicy::TakeLast);
        if (option.kind == Option::Kind::List) added->allow_extra_args(false);
        parsed.push_back(added);
      } else {
        parsed.push_back(app.add_flag(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
      }
    }
    flags_.assign(options_.size(), {});
    variables_.assign(options_.size(), {});
    std::string problem;
    try {
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the back
    } catch (const CLI::ArgumentMismatch& error) {
      const std::string_view text = error.what();
      problem = fmt::format("{} needs a value", text.substr(0, text.find(':')));
    } catch (const CLI::ParseError& error) {
      problem = error.what();
    }
    for (std::size_t i = 0; i < parsed.size(); ++i) {
      for (const std::string& value : parsed[i]->results()) {
        // CLI11 takes whatever follows; a flag there means that the value was forgotten.
        if (options_[i].takes_value() && is_flag(value)) problem = fmt::format("{} needs a value", options_[i].flag());
        flags_[i].push_back(value);
      }
    }
    if (!problem.empty()) return problem;
    return check_rest(app.remaining());
  }

  /// What is no known flag: the application, once.
  std::string check_rest(const std::vector<std::string>& rest) {
    std::vector<std::string> words;
    bool flags_ended = false;
    for (const std::string& word : rest) {
      if (!flags_ended && word == "--") {
        flags_ended = true;
      } else if (!flags_ended && word.size() > 1 && word.front() == '-') {
        return unknown_flag(word);
      } else {
        words.push_back(word);
      }
    }
    if (door_ != Door::Python) return words.empty() ? "" : fmt::format("'{}' is one word too many", words.front());
    const auto command = words.empty() ? kCommands.end() : std::ranges::find(kCommands, words.front(), &Command::name);
    if (command != kCommands.end()) {
      return fmt::format("the command '{0}' {1}; a module of that name is written {0}:app", command->name,
                         command->problem);
    }
    if (words.size() > 1) {
      return fmt::format("'{}' is one word too many: the application is '{}'", words[1], words[0]);
    }
    return check_application(words.empty() ? "" : words.front());
  }

  std::string check_application(const std::string& word) {
    if (given("help") || given("version")) return "";
    if (word.empty()) {
      return fmt::format(
          "no application is named: write {0} MODULE[:ATTR], for example {0} myproject.wsgi ({0} --help "
          "tells more)",
          program_);
    }
    if (word.find('/') != std::string::npos || (word.size() > 3 && word.ends_with(".py"))) {
      const std::size_t slash = word.rfind('/');
      const std::string directory = slash == std::string::npos ? "" : word.substr(0, slash);
      std::string module = slash == std::string::npos ? word : word.substr(slash + 1);
      if (module.ends_with(".py")) module.resize(module.size() - 3);
      return fmt::format("'{}' is a file: name its module, {} {}{}{}", word, program_,
                         directory.empty() ? "" : "--app-dir ", directory.empty() ? "" : directory + " ", module);
    }
    if (std::string problem = application_problem(word); !problem.empty()) return problem;
    draft_.invocation.python.application = word;
    return "";
  }

  std::string unknown_flag(const std::string& word) const {
    const std::string flag = word.substr(0, word.find('='));
    std::vector<std::string_view> known;
    known.reserve(options_.size());
    for (const Option& option : options_) known.push_back(option.name);
    const std::string near =
        suggest(std::string_view(flag).substr(std::min(flag.find_first_not_of('-'), flag.size())), known);
    if (near.empty()) return fmt::format("unknown option {}: {} --help lists them", flag, program_);
    return fmt::format("unknown option {}: did you mean --{}?", flag, near);
  }

  std::string read_values() {
    // The word PORT is anybody's: where the flags say it all, what it holds does not matter.
    const bool bound = given("bind");
    for (std::size_t i = 0; i < options_.size(); ++i) {
      const Option& option = options_[i];
      if (option.kind == Option::Kind::Action) continue;
      if (flags_[i].empty()) {
        if (bound && (option.name == "host" || option.name == "port")) continue;
        if (std::string problem = read_variable(i); !problem.empty()) return problem;
        continue;
      }
      for (const std::string& value : flags_[i]) {
        if (auto error = option.set(draft_, value)) return fmt::format("{}: {}", option.flag(), *error);
      }
    }
    return "";
  }

  std::string read_variable(std::size_t index) {
    const Option& option = options_[index];
    std::string name = option.variable();
    const char* value = variable(name);
    if (value == nullptr && !option.other_variable.empty()) {
      name = option.other_variable;
      value = variable(name);
    }
    if (value == nullptr) return "";
    variables_[index] = name;
    for (const std::string_view each : values_of(option, value)) {
      if (auto error = option.set(draft_, each)) return fmt::format("{}: {}", name, *error);
    }
    return "";
  }

  [[nodiscard]] std::string_view variable_of(std::string_view name) const { return variables_[index_of(name)]; }

  std::string decide_binds() {
    std::vector<std::string>& binds = draft_.invocation.config.binds;
    const bool half = given("host") || given("port");
    if (given("bind") && half) return "--bind already says where to listen: leave --host and --port out";
    const bool half_variable = !variable_of("host").empty() || variable_of("port") == "M0_PORT";
    if (half || (draft_.binds.empty() && half_variable)) return bind_to(draft_.host.value_or("127.0.0.1"));
    if (!draft_.binds.empty()) {
      binds = std::move(draft_.binds);
      return "";
    }
    // The convention of platforms that set PORT and nothing else: they reach the container from outside.
    if (variable_of("port") == "PORT") return bind_to("");
    return "";
  }

  std::string bind_to(const std::string& host) {
    const unsigned port = draft_.port.value_or(8000);
    const bool bare_v6 = host.find(':') != std::string::npos && !host.starts_with('[');
    std::string text = bare_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
    if (std::string problem = process::bind_problem(text); !problem.empty()) return fmt::format("--host: {}", problem);
    draft_.invocation.config.binds = {std::move(text)};
    return "";
  }

  std::string decide_threads() {
    pool::LaneConfig& lane = draft_.invocation.config.server.lane;
    if (set_threads(lane, draft_.threads, draft_.max_threads)) return "";
    return fmt::format("--max-blocking-threads {} is less than --blocking-threads {}", *draft_.max_threads,
                       *draft_.threads);
  }

  std::string check_lanes() const {
    const server::Config& config = draft_.invocation.config.server;
    for (const server::Mount& mount : config.mounts) {
      if (!mount.lane || std::ranges::find(config.lanes, mount.prefix, &server::LaneRule::prefix) == config.lanes.end())
        continue;
      return fmt::format("'{}' has a lane from --mount and another from --lane: leave one of them out", mount.prefix);
    }
    return "";
  }

  Environment environment_;
  Door door_;
  std::string program_;
  std::vector<Option> options_;
  std::vector<std::vector<std::string>> flags_;  // of each option, what the words gave
  std::vector<std::string> variables_;           // of each option, the name of the variable that was read
  Draft draft_;
};

}  // namespace

std::expected<Invocation, Exit> parse(std::span<const std::string> words, const Environment& environment, Door door,
                                      std::string_view program) {
  return Parser(environment, door, program).parse(words);
}

std::expected<Invocation, Exit> parse(int argc, char** argv, const Environment& environment, Door door) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  std::string program = argc > 0 ? argv[0] : "m0serve";
  program.erase(0, program.rfind('/') + 1);
  return parse(words, environment, door, program);
}

Environment process_environment() {
  return [](const char* name) -> const char* { return std::getenv(name); };
}

int leave(const Exit& exit) {
  std::FILE* stream = exit.to_stdout ? stdout : stderr;
  std::fwrite(exit.text.data(), 1, exit.text.size(), stream);
  std::fflush(stream);
  return exit.code;
}

}  // namespace m0::cli
