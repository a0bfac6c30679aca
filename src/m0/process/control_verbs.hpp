#pragma once
// What can be asked on the control socket: one row of a table a verb.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "m0/process/control_protocol.hpp"
#include "m0/pubsub/event_log.hpp"

namespace m0::process {

/// What a verb may use.
struct ControlContext {
  pubsub::EventLog& log;
};

struct ControlAnswer {
  bool ok = false;
  ControlFields fields;  // of an error: one sentence
};
[[nodiscard]] inline ControlAnswer control_error(std::string_view sentence) { return {false, {std::string(sentence)}}; }

/// A request that is being done, on the thread that serves the socket, which it never holds up: it is asked at once,
/// and then again and again until it answers. With `last` its time is over and it has to answer.
using ControlTask = std::move_only_function<std::optional<ControlAnswer>(bool last)>;

struct ControlVerb {
  std::string_view name;
  std::size_t arguments;
  /// Given as many arguments as `arguments` says.
  ControlTask (*begin)(const ControlContext& context, ControlFields&& arguments);
};
[[nodiscard]] std::span<const ControlVerb> control_verbs() noexcept;

/// The task of a request, its verb first; one that answers with an error where `verbs` has no such thing.
[[nodiscard]] ControlTask begin_request(std::span<const ControlVerb> verbs, const ControlContext& context,
                                        ControlFields&& request);

}  // namespace m0::process
