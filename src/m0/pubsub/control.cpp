#include "m0/pubsub/control.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <system_error>

namespace m0::pubsub {
namespace {

struct VerbName {
  Verb verb;
  std::string_view name;
};

constexpr std::array<VerbName, 5> kVerbs{{
    {Verb::Send, "send"},
    {Verb::CloseConnection, "close"},
    {Verb::CloseChannel, "close-channel"},
    {Verb::AskPresence, "presence?"},
    {Verb::TellPresence, "presence"},
}};

}  // namespace

std::string_view name_of(Verb verb) noexcept {
  for (const VerbName& each : kVerbs) {
    if (each.verb == verb) return each.name;
  }
  return {};
}

std::optional<Verb> verb_of(const Record& record) noexcept {
  for (const VerbName& each : kVerbs) {
    if (record.control() && each.name == record.name()) return each.verb;
  }
  return std::nullopt;
}

// "<code> <0 or 1> <reason>"
std::string to_data(const Farewell& farewell) {
  return fmt::format("{} {} {}", farewell.code, farewell.reconnect ? 1 : 0, farewell.reason);
}

std::optional<Farewell> read_farewell(std::string_view data) noexcept {
  Farewell farewell;
  const auto [stop, error] = std::from_chars(data.data(), data.data() + data.size(), farewell.code);
  if (error != std::errc{}) return std::nullopt;
  data.remove_prefix(static_cast<std::size_t>(stop - data.data()));
  if (data.size() < 3 || data[0] != ' ' || data[2] != ' ' || (data[1] != '0' && data[1] != '1')) return std::nullopt;
  farewell.reconnect = data[1] == '1';
  farewell.reason = data.substr(3);
  return farewell;
}

}  // namespace m0::pubsub
