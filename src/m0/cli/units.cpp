#include "m0/cli/units.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <span>

#include "m0/base/bytes.hpp"

namespace m0::cli {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t scale;
};

constexpr std::uint64_t kSecond = 1'000'000'000;
// Largest first, for formatting. The unit without a name comes last: it is for reading only.
constexpr std::array<Unit, 7> kTimes{{{"d", 86'400 * kSecond},
                                      {"h", 3'600 * kSecond},
                                      {"m", 60 * kSecond},
                                      {"s", kSecond},
                                      {"ms", 1'000'000},
                                      {"us", 1'000},
                                      {"", kSecond}}};
constexpr std::array<Unit, 5> kSizes{
    {{"t", 1ULL << 40U}, {"g", 1ULL << 30U}, {"m", 1ULL << 20U}, {"k", 1ULL << 10U}, {"", 1}}};

// A year: longer than any wait that is meant, and far from the end of a 64-bit count of nanoseconds.
constexpr std::uint64_t kLongest = 366ULL * 86'400 * kSecond;
constexpr std::uint64_t kLargest = 1ULL << 62U;

std::optional<std::uint64_t> multiply(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// DIGITS[.DIGITS]UNIT as a whole number of the smallest unit; nothing where it is not that or too large.
std::optional<std::uint64_t> parse_scaled(std::string_view text, std::span<const Unit> units) {
  std::size_t at = 0;
  std::uint64_t whole = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    const auto shifted = multiply(whole, 10);
    if (!shifted) return std::nullopt;
    whole = *shifted + static_cast<std::uint64_t>(text[at] - '0');
    if (whole < *shifted) return std::nullopt;
  }
  if (at == 0) return std::nullopt;
  std::uint64_t fraction = 0;
  std::uint64_t fraction_scale = 1;
  if (at < text.size() && text[at] == '.') {
    const std::size_t first = ++at;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      if (at - first >= 6) continue;  // finer than anybody measures
      fraction = fraction * 10 + static_cast<std::uint64_t>(text[at] - '0');
      fraction_scale *= 10;
    }
    if (at == first) return std::nullopt;
  }
  const std::string_view name = text.substr(at);
  for (const Unit& unit : units) {
    if (!base::iequals(unit.name, name)) continue;
    const auto scaled = multiply(whole, unit.scale);
    if (!scaled) return std::nullopt;
    // Six digits of fraction times 2^40 or a day stay below 2^64.
    return *scaled + unit.scale / fraction_scale * fraction + unit.scale % fraction_scale * fraction / fraction_scale;
  }
  return std::nullopt;
}

std::string format_scaled(std::uint64_t value, std::span<const Unit> units, std::string_view smallest) {
  for (const Unit& unit : units) {
    if (!unit.name.empty() && value != 0 && value % unit.scale == 0) {
      return fmt::format("{}{}", value / unit.scale, unit.name);
    }
  }
  return fmt::format("{}{}", value, smallest);
}

}  // namespace

std::expected<base::Duration, std::string> parse_duration(std::string_view text) {
  const std::optional<std::uint64_t> ns = parse_scaled(text, kTimes);
  if (!ns) return std::unexpected(fmt::format("'{}' is not a time: write 30s, 500ms, 2m or 1h", text));
  if (*ns > kLongest) return std::unexpected(fmt::format("'{}' is longer than a year", text));
  return base::Duration(static_cast<std::int64_t>(*ns));
}

std::expected<std::uint64_t, std::string> parse_bytes(std::string_view text) {
  std::string_view number = text;
  const auto drop = [&number](std::string_view ending) {
    if (number.size() <= ending.size() || !base::iequals(number.substr(number.size() - ending.size()), ending)) return;
    number.remove_suffix(ending.size());
  };
  const std::size_t before = number.size();
  drop("ib");
  if (number.size() == before) drop("b");
  if (number.size() == before - 2 && !number.empty() && is_digit(number.back())) number = text;  // "1ib" is nothing
  const std::optional<std::uint64_t> bytes = parse_scaled(number, kSizes);
  if (!bytes) return std::unexpected(fmt::format("'{}' is not a size: write 512, 64k, 64m or 1g", text));
  if (*bytes > kLargest) return std::unexpected(fmt::format("'{}' is more than any machine has", text));
  return *bytes;
}

std::expected<std::uint64_t, std::string> parse_count(std::string_view text) {
  static constexpr std::array<Unit, 1> kOne{{{"", 1}}};
  if (text.find('.') == std::string_view::npos) {
    if (const auto number = parse_scaled(text, kOne)) return *number;
  }
  return std::unexpected(fmt::format("'{}' is not a whole number", text));
}

std::expected<bool, std::string> parse_switch(std::string_view text) {
  for (const std::string_view word : {"1", "true", "yes", "on"}) {
    if (base::iequals(word, text)) return true;
  }
  for (const std::string_view word : {"0", "false", "no", "off"}) {
    if (base::iequals(word, text)) return false;
  }
  return std::unexpected(fmt::format("'{}' is neither true nor false", text));
}

std::string format_duration(base::Duration duration) {
  const std::int64_t ns = duration.count();
  if (ns <= 0) return "0s";
  return format_scaled(static_cast<std::uint64_t>(ns), kTimes, "ns");
}

std::string format_bytes(std::uint64_t bytes) { return format_scaled(bytes, kSizes, ""); }

}  // namespace m0::cli
