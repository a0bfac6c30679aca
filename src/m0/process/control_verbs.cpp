#include "m0/process/control_verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "m0/pubsub/channel_name.hpp"
#include "m0/pubsub/event_id.hpp"

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
    if (seq) return ControlAnswer{true, {pubsub::to_text({log.epoch(), *seq})}};
    if (seq.error() == pubsub::AppendError::Busy && !last) return std::nullopt;
    return control_error(describe(seq.error()));
  };
}

constexpr std::array kVerbs{
    ControlVerb{"publish", 4, publish},
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
