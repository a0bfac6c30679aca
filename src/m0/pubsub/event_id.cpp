#include "m0/pubsub/event_id.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <system_error>

namespace m0::pubsub {
namespace {

constexpr std::size_t kEpochDigits = 12;
constexpr std::string_view kEnd = "-end";

/// The whole text as a number written in its shortest form.
std::optional<std::uint64_t> decimal(std::string_view text) noexcept {
  if (text.empty() || (text.front() == '0' && text.size() > 1)) return std::nullopt;
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> epoch_of(std::string_view digits) noexcept {
  std::uint64_t value = 0;
  for (const char c : digits) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return std::nullopt;
    value = value * 16 + static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

}  // namespace

void append_id(std::string& out, const EventId& id) {
  fmt::format_to(std::back_inserter(out), "{:012x}-{}", id.epoch, id.seq);
}

std::string to_text(const EventId& id) {
  std::string text;
  append_id(text, id);
  return text;
}

void append_end_id(std::string& out, const EventId& id) {
  append_id(out, id);
  out += kEnd;
}

std::optional<ParsedId> parse_id(std::string_view text) noexcept {
  ParsedId parsed;
  if (text.ends_with(kEnd)) {
    parsed.end = true;
    text.remove_suffix(kEnd.size());
  }
  if (text.size() < kEpochDigits + 2 || text[kEpochDigits] != '-') return std::nullopt;
  const auto epoch = epoch_of(text.substr(0, kEpochDigits));
  const auto seq = decimal(text.substr(kEpochDigits + 1));
  if (!epoch || !seq) return std::nullopt;
  parsed.id = {*epoch, *seq};
  return parsed;
}

}  // namespace m0::pubsub
