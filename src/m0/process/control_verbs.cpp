#include "m0/process/control_verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <system_error>

#include "m0/pubsub/channel_name.hpp"
#include "m0/pubsub/connection_id.hpp"
#include "m0/pubsub/control.hpp"
#include "m0/pubsub/event_id.hpp"
#include "m0/pubsub/presence.hpp"

namespace m0::process {
namespace {

ControlTask answered(ControlAnswer answer) {
  return [answer = std::move(answer)](bool) mutable { return std::optional(std::move(answer)); };
}

/// publish CHANNEL DATA EVENT "text"|"binary" -> the event's id
ControlTask publish(const ControlContext& context, ControlFields&& arguments) {
  if (const auto problem = pubsub::channel_problem(arguments[0]); !problem.empty()) {
    return answered(control_error(fmt::format("the channel {}", problem)));
  }
  if (const auto problem = pubsub::event_name_problem(arguments[2]); !problem.empty()) {
    return answered(control_error(fmt::format("the event's name {}", problem)));
  }
  if (arguments[3] != "text" && arguments[3] != "binary") {
    return answered(control_error("the data is neither text nor binary"));
  }
  // Who serves the socket may only try the log's lock: another process that holds it may be stopped.
  return [&log = context.log, arguments = std::move(arguments)](bool last) -> std::optional<ControlAnswer> {
    const auto seq = log.try_append(
        {.channel = arguments[0], .data = arguments[1], .name = arguments[2], .binary = arguments[3] == "binary"});
    if (seq) return ControlAnswer{true, {pubsub::to_text(pubsub::EventId{log.epoch(), *seq})}};
    if (seq.error() == pubsub::AppendError::Busy && !last) return std::nullopt;
    return control_error(describe(seq.error()));
  };
}

/// A control record; no id is told.
ControlTask tell(const ControlContext& context, pubsub::Verb verb, std::string whom, std::string data, bool binary) {
  return [&log = context.log, verb, whom = std::move(whom), data = std::move(data),
          binary](bool last) -> std::optional<ControlAnswer> {
    const auto seq = log.try_append(pubsub::control_event(verb, whom, data, binary));
    if (seq) return ControlAnswer{true, {}};
    if (seq.error() == pubsub::AppendError::Busy && !last) return std::nullopt;
    return control_error(describe(seq.error()));
  };
}

/// send CONNECTION DATA "text"|"binary"
ControlTask send(const ControlContext& context, ControlFields&& arguments) {
  if (!pubsub::parse_connection_id(arguments[0])) return answered(control_error("no connection has such an id"));
  if (arguments[2] != "text" && arguments[2] != "binary") {
    return answered(control_error("the data is neither text nor binary"));
  }
  return tell(context, pubsub::Verb::Send, std::move(arguments[0]), std::move(arguments[1]), arguments[2] == "binary");
}

/// close "connection"|"channel" WHOM "reconnect"|"stay-away" CODE REASON
ControlTask close(const ControlContext& context, ControlFields&& arguments) {
  const bool all = arguments[0] == "channel";
  if ((!all && arguments[0] != "connection") || (arguments[2] != "reconnect" && arguments[2] != "stay-away")) {
    return answered(control_error("close takes a channel or a connection, and reconnect or stay-away"));
  }
  if (all) {
    if (const auto problem = pubsub::channel_problem(arguments[1]); !problem.empty()) {
      return answered(control_error(fmt::format("the channel {}", problem)));
    }
  } else if (!pubsub::parse_connection_id(arguments[1])) {
    return answered(control_error("no connection has such an id"));
  }
  pubsub::Farewell farewell{.reconnect = arguments[2] == "reconnect", .reason = arguments[4]};
  const char* const end = arguments[3].data() + arguments[3].size();
  const auto [stop, error] = std::from_chars(arguments[3].data(), end, farewell.code);
  if (error != std::errc{} || stop != end) return answered(control_error("the code is no number"));
  return tell(context, all ? pubsub::Verb::CloseChannel : pubsub::Verb::CloseConnection, std::move(arguments[1]),
              pubsub::to_data(farewell), false);
}

/// presence CHANNEL LIMIT -> the count, "all" or "some", and of each connection its id and its metadata
ControlTask presence(const ControlContext& context, ControlFields&& arguments) {
  if (const auto problem = pubsub::channel_problem(arguments[0]); !problem.empty()) {
    return answered(control_error(fmt::format("the channel {}", problem)));
  }
  std::size_t limit = 0;
  const char* const end = arguments[1].data() + arguments[1].size();
  const auto [stop, error] = std::from_chars(arguments[1].data(), end, limit);
  if (error != std::errc{} || stop != end) return answered(control_error("the limit is no number"));
  auto query = std::make_unique<pubsub::PresenceQuery>(context.log, std::move(arguments[0]), limit);
  return [query = std::move(query)](bool last) -> std::optional<ControlAnswer> {
    const auto done = query->advance();
    if (!done && done.error() != pubsub::AppendError::Busy) return control_error(describe(done.error()));
    if (!last && (!done || !*done)) return std::nullopt;
    if (!done) return control_error(describe(done.error()));
    return ControlAnswer{true, pubsub::to_fields(query->take())};
  };
}

constexpr std::array kVerbs{
    ControlVerb{"publish", 4, publish},
    ControlVerb{"send", 3, send},
    ControlVerb{"close", 5, close},
    ControlVerb{"presence", 2, presence},
};

}  // namespace

std::span<const ControlVerb> control_verbs() noexcept { return kVerbs; }

ControlTask begin_request(std::span<const ControlVerb> verbs, const ControlContext& context, ControlFields&& request) {
  const auto verb = std::ranges::find(verbs, request.front(), &ControlVerb::name);
  if (verb == verbs.end()) {
    return answered(control_error("this server does not know that request: the two are of different versions"));
  }
  request.erase(request.begin());
  if (request.size() != verb->arguments) {
    return answered(
        control_error(fmt::format("{} takes {} arguments, not {}", verb->name, verb->arguments, request.size())));
  }
  return verb->begin(context, std::move(request));
}

}  // namespace m0::process
