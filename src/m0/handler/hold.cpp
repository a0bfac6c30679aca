#include "m0/handler/hold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "m0/base/bytes.hpp"
#include "m0/http/field_line.hpp"
#include "m0/http/list.hpp"
#include "m0/http/percent.hpp"
#include "m0/pubsub/channel_name.hpp"

namespace m0::handler {
namespace {

using Problem = std::optional<std::string>;

constexpr std::uint64_t kLongestKeepAlive = 3600;                   // seconds
constexpr std::uint64_t kLongestHold = std::uint64_t{366} * 86400;  // seconds
constexpr std::uint64_t kMostReplayed = 1'000'000;

Problem read_number(std::string_view name, std::string_view value, std::uint64_t least, std::uint64_t most,
                    std::uint64_t& into) {
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), into);
  if (error == std::errc{} && stop == value.data() + value.size() && into >= least && into <= most) return {};
  return fmt::format("{} must be a whole number from {} to {}", name, least, most);
}

Problem read_seconds(std::string_view name, std::string_view value, std::uint64_t most, base::Duration& into) {
  std::uint64_t seconds = 0;
  Problem problem = read_number(name, value, 1, most, seconds);
  if (!problem) into = std::chrono::seconds(seconds);
  return problem;
}

Problem add_channel(std::string_view item, std::vector<std::string>& channels) {
  if (item.empty()) return {};  // RFC 9110 5.6.1.2: an empty element of a list counts for nothing
  std::string name;
  http::percent_decode(item, name);
  if (const std::string_view problem = pubsub::channel_problem(name); !problem.empty()) {
    return fmt::format("a channel's name {}", problem);
  }
  if (std::ranges::find(channels, name) != channels.end()) return {};
  if (channels.size() == kMaxChannels) return fmt::format("a connection has at most {} channels", kMaxChannels);
  channels.push_back(std::move(name));
  return {};
}

Problem add_channels(std::string_view list, std::vector<std::string>& channels) {
  Problem problem;
  http::each_element(list, [&](std::string_view item) {
    if (!problem) problem = add_channel(item, channels);
  });
  return problem;
}

Problem read_events(std::string_view list, Hold& hold) {
  Problem problem;
  http::each_element(list, [&](std::string_view item) {
    if (base::iequals(item, "open")) {
      hold.wants_open = true;
    } else if (base::iequals(item, "close")) {
      hold.wants_close = true;
    } else if (!item.empty()) {
      problem = "M0-Events lists open and close and nothing else";
    }
  });
  return problem;
}

constexpr std::string_view kMeta = "M0-Meta-";

Problem add_metadata(std::string_view name, std::string_view value, std::string& metadata) {
  if (name.size() == kMeta.size()) return "M0-Meta- needs a name behind it";
  if (!http::is_token(name) || !http::is_field_value(value)) return "an M0-Meta- field cannot go on the wire";
  // As the key of a WSGI environ it could not be told from the one with dashes.
  if (name.find('_') != std::string_view::npos) return fmt::format("{} must not have an underscore", name);
  http::append_field_line(metadata, name, value);
  if (metadata.size() <= kMaxMetadata) return {};
  return fmt::format("the M0-Meta- fields have more than {} bytes", kMaxMetadata);
}

Problem read_close(std::string_view value, CloseWish& close) {
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), close.code);
  const std::string_view rest = value.substr(static_cast<std::size_t>(stop - value.data()));
  if (error != std::errc{} || (!rest.empty() && rest.front() != ' ')) {
    return "M0-Close must be a close code, and perhaps a reason behind a space";
  }
  close.reason = base::trim_ows(rest);
  return {};
}

Problem read_field(std::string_view name, std::string_view value, Hold& hold, bool& wanted) {
  if (base::iequals(name, "M0-Hold")) {
    wanted = true;
    if (base::iequals(value, "stream")) return {};
    hold.kind = Hold::Kind::WebSocket;
    if (base::iequals(value, "websocket")) return {};
    return "M0-Hold must be stream or websocket";
  }
  if (base::iequals(name, "M0-Channel")) return add_channels(value, hold.channels);
  if (base::iequals(name, "M0-Keep-Alive")) return read_seconds(name, value, kLongestKeepAlive, hold.keep_alive);
  if (base::iequals(name, "M0-Hold-Timeout")) return read_seconds(name, value, kLongestHold, hold.timeout);
  if (base::iequals(name, "M0-Replay")) {
    std::uint64_t count = 0;
    Problem problem = read_number(name, value, 0, kMostReplayed, count);
    hold.replay = static_cast<std::size_t>(count);
    return problem;
  }
  if (base::iequals(name, "M0-Since")) {
    const auto parsed = pubsub::parse_id(value);
    if (!parsed || parsed->end) return "M0-Since must be a cursor of this server, as m0serve.cursor() gives it";
    hold.since = parsed->id;
    return {};
  }
  if (base::iequals(name, "M0-Frames")) {
    hold.json = base::iequals(value, "json");
    if (hold.json || base::iequals(value, "raw")) return {};
    return "M0-Frames must be raw or json";
  }
  if (base::iequals(name, "M0-Origin")) {
    hold.any_origin = base::iequals(value, "any");
    if (hold.any_origin) return {};
    return "M0-Origin must be any";
  }
  if (base::iequals(name, "M0-Events")) return read_events(value, hold);
  if (base::iequals(name.substr(0, kMeta.size()), kMeta)) return add_metadata(name, value, hold.metadata);
  return fmt::format("there is no response field {}", name);
}

}  // namespace

std::expected<std::optional<Hold>, std::string> take_hold(http::FieldList& fields) {
  bool any = false;
  for (std::size_t i = 0; i < fields.size() && !any; ++i) any = is_own_field(fields[i].name);
  if (!any) return std::nullopt;

  Hold hold;
  bool wanted = false;
  Problem problem;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const http::Field field = fields[i];
    if (!is_own_field(field.name)) continue;
    const bool repeated = std::ranges::any_of(names, [&](const auto& name) { return base::iequals(name, field.name); });
    names.emplace_back(field.name);
    if (repeated && !base::iequals(field.name, "M0-Channel") && !problem) {
      problem = fmt::format("{} stands more than once", field.name);
    }
    if (!problem) problem = read_field(field.name, base::trim_ows(field.value), hold, wanted);
  }
  for (const std::string& name : names) fields.remove(name);
  if (!wanted) return std::nullopt;
  if (problem) return std::unexpected(*problem);
  if (hold.channels.empty()) return std::unexpected("M0-Hold needs at least one M0-Channel");
  return hold;
}

std::expected<Reply, std::string> read_reply(const http::FieldList& fields) {
  Reply reply;
  Problem problem;
  for (std::size_t i = 0; i < fields.size() && !problem; ++i) {
    const http::Field field = fields[i];
    if (base::iequals(field.name, "M0-Channel")) {
      problem = add_channels(field.value, reply.channels.emplace(reply.channels.value_or(std::vector<std::string>{})));
    } else if (base::iequals(field.name, "M0-Close")) {
      problem = read_close(base::trim_ows(field.value), reply.close.emplace());
    }
  }
  if (!problem && reply.channels && reply.channels->empty()) problem = "M0-Channel names no channel";
  if (problem) return std::unexpected(*problem);
  return reply;
}

}  // namespace m0::handler
