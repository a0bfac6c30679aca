#include "m0/pubsub/connection_id.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace m0::pubsub {
namespace {

constexpr std::size_t kWorkerDigits = 8;

}  // namespace

std::string to_text(const ConnectionId& id) { return fmt::format("{:08x}-{:x}", id.worker, id.serial); }

std::optional<ConnectionId> parse_connection_id(std::string_view text) noexcept {
  ConnectionId id;
  if (text.size() < kWorkerDigits + 2 || text[kWorkerDigits] != '-' || text[kWorkerDigits + 1] == '0') {
    return std::nullopt;
  }
  const auto read = [](std::string_view digits, auto& into) {
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into, 16);
    const bool lower = digits.find_first_of("ABCDEF") == std::string_view::npos;
    return error == std::errc{} && stop == digits.data() + digits.size() && lower;
  };
  if (!read(text.substr(0, kWorkerDigits), id.worker) || !read(text.substr(kWorkerDigits + 1), id.serial)) {
    return std::nullopt;
  }
  return id;
}

}  // namespace m0::pubsub
