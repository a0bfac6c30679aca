#include "m0/cli/lane_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "m0/cli/units.hpp"

namespace m0::cli {
namespace {

using Problem = std::string;

/// Takes what stands before the next comma off `rest`.
std::string_view next_word(std::string_view& rest) {
  const std::size_t comma = rest.find(',');
  const std::string_view word = rest.substr(0, comma);
  rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  return word;
}

/// A whole number from 1 to `most`, into `number`.
template <class Number>
Problem read_count(std::string_view text, std::uint64_t most, std::optional<Number>& number) {
  if (number) return "it is said twice";
  const auto value = parse_count(text);
  if (!value) return value.error();
  if (*value < 1) return "1 is the least it can be";
  if (*value > most) return fmt::format("{} is the most it can be", most);
  number = static_cast<Number>(*value);
  return "";
}

Problem read_wait(std::string_view text, std::optional<base::Duration>& wait) {
  if (wait) return "it is said twice";
  const auto value = parse_duration(text);
  if (!value) return value.error();
  if (*value > kLongestWait) return fmt::format("{} is the most it can be", format_duration(kLongestWait));
  wait = *value;
  return "";
}

/// The words after the prefix, all of `rest`.
Problem read_words(std::string_view rest, pool::LaneConfig& lane) {
  std::optional<unsigned> threads;
  std::optional<unsigned> most;
  std::optional<std::size_t> queue;
  std::optional<base::Duration> wait;
  while (!rest.empty()) {
    const std::string_view word = next_word(rest);
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    Problem problem;
    if (name == "threads") {
      problem = read_count(value, kMostThreads, threads);
    } else if (name == "max-threads") {
      problem = read_count(value, kMostThreads, most);
    } else if (name == "queue") {
      problem = read_count(value, kLongestQueue, queue);
    } else if (name == "queue-timeout") {
      problem = read_wait(value, wait);
    } else {
      return fmt::format("'{}' is none of threads=N, max-threads=M, queue=N, queue-timeout=TIME", word);
    }
    if (!problem.empty()) return fmt::format("{}: {}", name, problem);
  }
  if (!set_threads(lane, threads, most)) {
    return fmt::format("max-threads={} is less than threads={}", *most, *threads);
  }
  if (queue) lane.queue = *queue;
  if (wait) lane.queue_timeout = *wait;
  return "";
}

/// A slash at the end is forgiven. `root` says what to do instead of naming the root.
Problem read_prefix(std::string_view word, std::string_view root, std::string& prefix) {
  if (word.empty()) return "the prefix is missing: it is a path such as /reports";
  prefix = word;
  if (prefix.back() == '/') prefix.pop_back();
  if (prefix.empty() || prefix == "/") return fmt::format("'{}' is the whole application: {}", word, root);
  if (const std::string problem = server::prefix_problem(prefix); !problem.empty()) {
    return fmt::format("'{}': {}", word, problem);
  }
  return "";
}

}  // namespace

bool set_threads(pool::LaneConfig& lane, std::optional<unsigned> threads, std::optional<unsigned> most) {
  if (threads && most && *most < *threads) return false;
  if (threads) {
    lane.threads = *threads;
    lane.max_threads = most.value_or(*threads);
  } else if (most) {
    lane.max_threads = *most;
    lane.threads = std::min(lane.threads, *most);
  }
  return true;
}

std::expected<server::LaneRule, std::string> parse_lane(std::string_view text) {
  server::LaneRule rule;
  Problem problem = read_prefix(next_word(text),
                                "its threads are set by --blocking-threads, --max-blocking-threads, --queue and "
                                "--queue-timeout",
                                rule.prefix);
  if (problem.empty()) problem = read_words(text, rule.lane);
  if (!problem.empty()) return std::unexpected(std::move(problem));
  rule.lane.name = rule.prefix;
  return rule;
}

std::expected<MountWords, std::string> parse_mount(std::string_view text) {
  MountWords mount;
  const std::string_view word = next_word(text);
  // The last one: a path may hold the sign, the name of a module may not.
  const std::size_t equals = word.rfind('=');
  if (equals == std::string_view::npos) {
    return std::unexpected(
        fmt::format("'{}' names no application: write PREFIX=MODULE[:ATTR], such as "
                    "/shop=shop.wsgi",
                    word));
  }
  Problem problem = read_prefix(word.substr(0, equals), "name it alone, without --mount", mount.prefix);
  if (!problem.empty()) return std::unexpected(std::move(problem));
  mount.application = word.substr(equals + 1);
  if (mount.application.empty()) {
    return std::unexpected(fmt::format("MODULE is missing: write {}=MODULE[:ATTR]", mount.prefix));
  }
  problem = application_problem(mount.application);
  if (problem.empty() && !text.empty()) {
    mount.lane.emplace();
    mount.lane->name = mount.prefix;
    problem = read_words(text, *mount.lane);
  }
  if (!problem.empty()) return std::unexpected(std::move(problem));
  return mount;
}

std::string application_problem(std::string_view application) {
  if (application.find('/') != std::string_view::npos || (application.size() > 3 && application.ends_with(".py"))) {
    std::string_view module = application.substr(application.rfind('/') + 1);
    if (module.ends_with(".py")) module.remove_suffix(3);
    return fmt::format("'{}' is a file: name its module, {}", application, module);
  }
  if (application.empty() || application.front() == ':' || application.back() == ':') {
    return fmt::format("'{}' is not MODULE[:ATTR]", application);
  }
  return "";
}

}  // namespace m0::cli
