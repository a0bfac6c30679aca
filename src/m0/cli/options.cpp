#include "m0/cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "m0/cli/lane_words.hpp"
#include "m0/cli/units.hpp"

namespace m0::cli {
namespace {

using Error = std::optional<std::string>;

/// What binds a row to a member: reading, checking, and telling the default.
struct Binding {
  std::function<Error(Draft&, std::string_view)> set;
  std::string default_text;
};

template <class Reach>
using Target = std::remove_reference_t<std::invoke_result_t<Reach, Draft&>>;

const process::Config& defaults() {
  static const process::Config config;
  return config;
}

template <class Number>
Error range_error(Number value, std::uint64_t least, std::uint64_t most, const std::string& least_text,
                  const std::string& most_text) {
  if (value < least) return fmt::format("{} is the least it can be", least_text);
  if (value > most) return fmt::format("{} is the most it can be", most_text);
  return std::nullopt;
}

/// A whole number from `least` to `most`. `reach` gives the member.
template <class Reach>
Binding count(Reach reach, std::uint64_t least, std::uint64_t most) {
  Draft draft;
  return {[=](Draft& into, std::string_view text) -> Error {
            const auto value = parse_count(text);
            if (!value) return value.error();
            if (auto error = range_error(*value, least, most, fmt::format("{}", least), fmt::format("{}", most))) {
              return error;
            }
            reach(into) = static_cast<Target<Reach>>(*value);
            return std::nullopt;
          },
          fmt::format("{}", reach(draft))};
}

/// The same for a number that an option alone does not decide.
template <class Reach>
Binding optional_count(Reach reach, std::uint64_t least, std::uint64_t most, std::string default_text) {
  return {[=](Draft& into, std::string_view text) -> Error {
            const auto value = parse_count(text);
            if (!value) return value.error();
            if (auto error = range_error(*value, least, most, fmt::format("{}", least), fmt::format("{}", most))) {
              return error;
            }
            reach(into) = static_cast<unsigned>(*value);
            return std::nullopt;
          },
          std::move(default_text)};
}

template <class Reach>
Binding size(Reach reach, std::uint64_t least, std::uint64_t most) {
  Draft draft;
  return {[=](Draft& into, std::string_view text) -> Error {
            const auto value = parse_bytes(text);
            if (!value) return value.error();
            if (auto error = range_error(*value, least, most, format_bytes(least), format_bytes(most))) return error;
            reach(into) = static_cast<Target<Reach>>(*value);
            return std::nullopt;
          },
          format_bytes(reach(draft))};
}

template <class Reach>
Binding duration(Reach reach, base::Duration least, base::Duration most) {
  Draft draft;
  return {[=](Draft& into, std::string_view text) -> Error {
            const auto value = parse_duration(text);
            if (!value) return value.error();
            if (*value < least) return fmt::format("{} is the least it can be", format_duration(least));
            if (*value > most) return fmt::format("{} is the most it can be", format_duration(most));
            reach(into) = *value;
            return std::nullopt;
          },
          format_duration(reach(draft))};
}

/// A switch that sets the member to `when_on`.
template <class Reach>
Binding toggle(Reach reach, bool when_on = true) {
  return {[=](Draft& into, std::string_view text) -> Error {
            const auto on = parse_switch(text);
            if (!on) return on.error();
            reach(into) = *on == when_on;
            return std::nullopt;
          },
          ""};
}

Binding text(std::function<std::string&(Draft&)> reach, std::function<Error(std::string_view)> check,
             std::string default_text) {
  return {[reach = std::move(reach), check = std::move(check)](Draft& into, std::string_view value) -> Error {
            if (auto error = check(value)) return error;
            reach(into) = value;
            return std::nullopt;
          },
          std::move(default_text)};
}

Error anything_named(std::string_view value) {
  if (value.empty()) return "the value is empty";
  return std::nullopt;
}

Error set_log_level(Draft& into, std::string_view value) {
  if (base::parse_log_level(value, into.invocation.config.log_level)) return std::nullopt;
  return fmt::format("'{}' is none of debug, info, warning, error, critical", value);
}

Error set_access_format(Draft& into, std::string_view value) {
  auto& format = into.invocation.config.server.access_log_format;
  if (value == "combined") {
    format = server::AccessLogFormat::Combined;
  } else if (value == "json") {
    format = server::AccessLogFormat::Json;
  } else {
    return fmt::format("'{}' is neither combined nor json", value);
  }
  return std::nullopt;
}

Error set_unix_mode(Draft& into, std::string_view value) {
  unsigned mode = 0;
  const bool octal =
      !value.empty() && value.size() <= 4 && value.find_first_not_of("01234567") == std::string_view::npos;
  if (octal) {
    for (const char digit : value) mode = mode * 8 + static_cast<unsigned>(digit - '0');
  }
  if (!octal || mode > 0777) return fmt::format("'{}' is not a mode: write 660 or 666", value);
  into.invocation.config.unix_mode = mode;
  return std::nullopt;
}

Error check_hook(std::string_view value) {
  const std::size_t colon = value.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == value.size()) {
    return fmt::format("'{}' names no function: write MODULE:FUNC", value);
  }
  return std::nullopt;
}

Error set_bind(Draft& into, std::string_view value) {
  if (std::string problem = process::bind_problem(value); !problem.empty()) return problem;
  into.binds.emplace_back(value);
  return std::nullopt;
}

// More prefixes than anybody names; each request looks through them.
constexpr std::size_t kMostPrefixes = 1000;

Error too_many(std::size_t there) {
  if (there < kMostPrefixes) return std::nullopt;
  return fmt::format("{} is the most there can be", kMostPrefixes);
}

Error set_control(Draft& into, std::string_view value) {
  into.invocation.config.control = value == "off" ? "" : value;
  return std::nullopt;
}

Error add_lane(Draft& into, std::string_view value) {
  auto rule = parse_lane(value);
  if (!rule) return rule.error();
  std::vector<server::LaneRule>& lanes = into.invocation.config.server.lanes;
  if (std::ranges::find(lanes, rule->prefix, &server::LaneRule::prefix) != lanes.end()) {
    return fmt::format("'{}' has a lane already", rule->prefix);
  }
  if (auto error = too_many(lanes.size())) return error;
  lanes.push_back(std::move(*rule));
  return std::nullopt;
}

Error add_mount(Draft& into, std::string_view value) {
  auto words = parse_mount(value);
  if (!words) return words.error();
  std::vector<server::Mount>& mounts = into.invocation.config.server.mounts;
  if (std::ranges::find(mounts, words->prefix, &server::Mount::prefix) != mounts.end()) {
    return fmt::format("something is mounted at '{}' already", words->prefix);
  }
  if (auto error = too_many(mounts.size())) return error;
  std::vector<std::string>& applications = into.invocation.python.mounts;
  applications.push_back(std::move(words->application));
  mounts.push_back(
      {std::move(words->prefix), static_cast<std::uint16_t>(applications.size()), false, std::move(words->lane)});
  return std::nullopt;
}

Error add_origin(Draft& into, std::string_view value) {
  if (const std::string_view problem = held::origin_problem(value); !problem.empty()) {
    return fmt::format("'{}' {}", value, problem);
  }
  into.invocation.config.server.held.allowed_origins.emplace_back(value);
  return std::nullopt;
}

}  // namespace

std::string_view group_title(Group group) noexcept {
  switch (group) {
    case Group::Application: return "Application";
    case Group::Listening: return "Listening";
    case Group::Processes: return "Processes";
    case Group::Threads: return "Threads";
    case Group::Limits: return "Limits";
    case Group::Timeouts: return "Timeouts";
    case Group::Realtime: return "Realtime";
    case Group::Logging: return "Logging";
    case Group::General: return "General";
  }
  return "";
}

std::string Option::flag() const { return "--" + std::string(name); }

std::string Option::variable() const {
  if (kind == Kind::Action) return "";
  std::string result = "M0_";
  for (const char c : name) result += c == '-' ? '_' : (c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  return result;
}

std::vector<Option> options_of(Door door) {
  using std::chrono::hours;
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  using Kind = Option::Kind;
  const auto config = [](auto member) { return [=](Draft& d) -> auto& { return member(d.invocation.config); }; };
  const auto python = [](auto member) { return [=](Draft& d) -> auto& { return member(d.invocation.python); }; };

  std::vector<Option> table;
  const auto row = [&table](Group group, std::string_view name, std::string_view value_name, Kind kind,
                            std::string_view help, Binding binding) -> Option& {
    Option option;
    option.group = group;
    option.name = name;
    option.value_name = value_name;
    option.kind = kind;
    option.help = help;
    option.default_text = std::move(binding.default_text);
    option.set = std::move(binding.set);
    return table.emplace_back(std::move(option));
  };

  // -- only the Python door
  row(Group::Application, "factory", "", Kind::Switch,
      "ATTR is called once, without arguments, and gives the application; the main one only: what --mount names is an "
      "application already",
      toggle(python([](auto& p) -> auto& { return p.factory; })))
      .python_only = true;
  {
    Option& mount =
        row(Group::Application, "mount",
            "PREFIX=MODULE[:ATTR][,threads=N][,max-threads=M][,queue=N][,queue-timeout=TIME]", Kind::List,
            "Another application at a prefix of the path, /shop=shop.wsgi; any of the words after it gives it a lane "
            "of its own, as --lane does. May be given several times; in the variable separated by spaces",
            {add_mount, ""});
    mount.python_only = true;
    mount.spaced = true;
  }
  row(Group::Application, "app-dir", "DIR", Kind::Value, "Put first on the module search path",
      text([](Draft& d) -> std::string& { return d.invocation.python.app_dir; }, anything_named,
           "the current directory"))
      .python_only = true;
  row(Group::Application, "worker-start", "MODULE:FUNC", Kind::Value,
      "Called in each worker after the application is imported, with the worker's number: the place to open database "
      "pools and start agents",
      text([](Draft& d) -> std::string& { return d.invocation.python.worker_start; }, check_hook, ""))
      .python_only = true;
  row(Group::Application, "switch-interval", "TIME", Kind::Value,
      "How long a thread keeps the interpreter while others wait for it",
      duration(python([](auto& p) -> auto& { return p.switch_interval; }), microseconds(10), seconds(1)))
      .python_only = true;

  // -- every program
  {
    Option& bind = row(Group::Listening, "bind", "ADDRESS", Kind::List,
                       "HOST:PORT, [IPV6]:PORT, :PORT (every interface) or unix:PATH; may be given several times",
                       {set_bind, defaults().binds.front()});
    bind.letter = 'b';
  }
  row(Group::Listening, "host", "HOST", Kind::Value, "Instead of --bind, with --port: the host alone",
      {[](Draft& into, std::string_view value) -> Error {
         into.host = value;
         return std::nullopt;
       },
       "127.0.0.1"});
  row(Group::Listening, "port", "PORT", Kind::Value,
      "Instead of --bind, with --host: the port alone. The variable PORT by itself listens on every interface",
      optional_count([](Draft& d) -> auto& { return d.port; }, 0, 65535, "8000"))
      .other_variable = "PORT";
  row(Group::Listening, "backlog", "N", Kind::Value, "Connections that may wait in the kernel to be accepted",
      count(config([](auto& c) -> auto& { return c.backlog; }), 1, 65535));
  row(Group::Listening, "unix-mode", "MODE", Kind::Value, "Permissions of a Unix socket's file, in octal",
      {set_unix_mode, fmt::format("{:o}", defaults().unix_mode)});

  {
    Option& workers = row(Group::Processes, "workers", "N", Kind::Value, "Worker processes",
                          count(config([](auto& c) -> auto& { return c.workers; }), 1, 512));
    workers.letter = 'w';
    workers.other_variable = "WEB_CONCURRENCY";
  }
  row(Group::Processes, "preload", "", Kind::Switch,
      "Import the application once, before the workers are forked, instead of in each of them",
      toggle(config([](auto& c) -> auto& { return c.preload; })));
  row(Group::Processes, "no-fork", "", Kind::Switch, "Everything in one process, for debuggers",
      toggle(config([](auto& c) -> auto& { return c.fork; }), false));

  row(Group::Threads, "blocking-threads", "N", Kind::Value,
      "Threads of a worker that run the application; given alone it is exactly that many",
      optional_count([](Draft& d) -> auto& { return d.threads; }, 1, kMostThreads,
                     fmt::format("{}", defaults().server.lane.threads)));
  row(Group::Threads, "max-blocking-threads", "M", Kind::Value,
      "Grow to this many while every thread is blocked and requests wait",
      optional_count([](Draft& d) -> auto& { return d.max_threads; }, 1, kMostThreads,
                     fmt::format("{}", defaults().server.lane.max_threads)));
  row(Group::Threads, "queue", "N", Kind::Value,
      "Requests of a worker that may wait for a thread; one more is answered 503",
      count(config([](auto& c) -> auto& { return c.server.lane.queue; }), 1, kLongestQueue));
  {
    Binding wait =
        duration(config([](auto& c) -> auto& { return c.server.lane.queue_timeout; }), seconds(0), kLongestWait);
    wait.default_text = "none";
    row(Group::Threads, "queue-timeout", "TIME", Kind::Value,
        "How long a request may wait for a thread before it is answered 503; 0 is for ever", std::move(wait));
  }
  row(Group::Threads, "lane", "PREFIX[,threads=N][,max-threads=M][,queue=N][,queue-timeout=TIME]", Kind::List,
      "Threads of its own for what lies under a prefix of the path, /reports,threads=2: exactly N, N growing to M, "
      "or else 8 growing to 64. May be given several times; in the variable separated by spaces",
      {add_lane, ""})
      .spaced = true;

  row(Group::Limits, "max-connections", "N", Kind::Value, "Connections of a worker; more wait in the backlog",
      count(config([](auto& c) -> auto& { return c.server.max_connections; }), 1, 1'000'000));
  row(Group::Limits, "max-body", "SIZE", Kind::Value, "The body of a request; a larger one is answered 413",
      size(config([](auto& c) -> auto& { return c.server.limits.max_body; }), 0, 1ULL << 50U));
  row(Group::Limits, "max-line", "SIZE", Kind::Value, "The request line (else 414) and each field of a head (else 431)",
      size(config([](auto& c) -> auto& { return c.server.limits.max_line; }), 64, 1ULL << 20U));
  row(Group::Limits, "max-head", "SIZE", Kind::Value, "The whole head of a request; a larger one is answered 431",
      size(config([](auto& c) -> auto& { return c.server.limits.max_head; }), 128, 16ULL << 20U));
  row(Group::Limits, "max-fields", "N", Kind::Value, "Fields in the head of a request; one more is answered 431",
      count(config([](auto& c) -> auto& { return c.server.limits.max_fields; }), 1, 10'000));
  row(Group::Limits, "body-memory", "SIZE", Kind::Value, "What all bodies of a worker may take in memory",
      size(config([](auto& c) -> auto& { return c.server.body_memory; }), 64ULL << 10U, 1ULL << 50U));
  row(Group::Limits, "body-disk", "SIZE", Kind::Value, "What all bodies of a worker may take in temporary files",
      size(config([](auto& c) -> auto& { return c.server.body_disk; }), 0, 1ULL << 50U));

  const auto timeout = [&](std::string_view name, std::string_view help, auto member) {
    row(Group::Timeouts, name, "TIME", Kind::Value, help,
        duration([=](Draft& d) -> auto& { return d.invocation.config.server.timeouts.*member; }, milliseconds(1),
                 hours(24)));
  };
  timeout("head-timeout", "For the head of a request, from its first byte", &server::Timeouts::head);
  timeout("body-timeout", "Between two pieces of a request's body", &server::Timeouts::body);
  timeout("idle-timeout", "For a connection that is kept open without a request", &server::Timeouts::idle);
  timeout("write-timeout", "Between two pieces of an answer that the client takes", &server::Timeouts::write);
  row(Group::Timeouts, "graceful-timeout", "TIME", Kind::Value,
      "From a stop until the requests that are still running are ended",
      duration([](Draft& d) -> auto& { return d.invocation.config.server.timeouts.graceful; }, seconds(0), hours(24)));

  row(Group::Realtime, "event-log-size", "SIZE", Kind::Value,
      "Memory that all workers share, in which published events are kept for clients that come back",
      size(config([](auto& c) -> auto& { return c.event_log_size; }), pubsub::kMinLogSize, 32ULL << 30U));
  row(Group::Realtime, "event-log", "FILE", Kind::Value,
      "Keeps the event log through a restart of the server: it is written behind, to FILE and FILE.1, each of its size",
      text([](Draft& d) -> std::string& { return d.invocation.config.event_log; }, anything_named, "none"));
  row(Group::Realtime, "max-event", "SIZE", Kind::Value,
      "An event with its names; also at most a sixteenth of the event log. A larger one is not published",
      size(config([](auto& c) -> auto& { return c.max_event; }), 256, 1ULL << 30U));
  row(Group::Realtime, "max-message", "SIZE", Kind::Value,
      "A message of a WebSocket, and the frame that answers it; a larger one closes the connection with 1009",
      size(config([](auto& c) -> auto& { return c.server.held.max_message; }), 125, 1ULL << 30U));
  row(Group::Realtime, "allowed-origins", "ORIGIN", Kind::List,
      "Another origin whose pages may open WebSockets, as https://example.com, beside the request's own; * allows any. "
      "May be given several times; in the variable separated by commas",
      {add_origin, "none"});
  row(Group::Realtime, "hold-keep-alive", "TIME", Kind::Value,
      "Between two signs of life to a held client, unless its view said M0-Keep-Alive",
      duration(config([](auto& c) -> auto& { return c.server.held.keep_alive; }), seconds(1), hours(1)));
  row(Group::Realtime, "drain-spread", "TIME", Kind::Value,
      "Over which held clients are sent away when the server stops, and come back",
      duration(config([](auto& c) -> auto& { return c.server.held.drain_spread; }), seconds(0), hours(1)));

  row(Group::Realtime, "control", "PATH", Kind::Value,
      "The control socket, through which forked children, management commands and m0serve publish reach this server; "
      "off: there is none. The variable also tells those where it is",
      {set_control, "named by the first address, in the user's runtime directory"});
  row(Group::Realtime, "control-group", "GROUP", Kind::Value, "May use the control socket too, not only its owner",
      text([](Draft& d) -> std::string& { return d.invocation.config.control_group; }, anything_named, ""));

  row(Group::Logging, "log-level", "LEVEL", Kind::Value, "debug, info, warning, error or critical",
      {set_log_level, "info"});
  row(Group::Logging, "access-log", "PATH", Kind::Value,
      "A line for each request goes to this file; - is standard output",
      text([](Draft& d) -> std::string& { return d.invocation.config.server.access_log; }, anything_named, "none"));
  row(Group::Logging, "access-log-format", "FORMAT", Kind::Value, "combined or json", {set_access_format, "combined"});

  row(Group::General, "help", "", Kind::Action, "Print this and leave", {}).letter = 'h';
  row(Group::General, "version", "", Kind::Action, "Print the version and leave", {});

  if (door != Door::Python) std::erase_if(table, [](const Option& option) { return option.python_only; });
  return table;
}

}  // namespace m0::cli
