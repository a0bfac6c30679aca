#include "m0/pubsub/channel_name.hpp"

#include "m0/base/escape.hpp"
#include "m0/pubsub/event.hpp"

namespace m0::pubsub {
namespace {

std::string_view text_problem(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first < 0x20 || first == 0x7f) return "has a control character";
    if (first < 0x80) {
      text.remove_prefix(1);
      continue;
    }
    const std::size_t length = base::utf8_length(text);
    if (length == 0) return "is not UTF-8";
    // U+0080 to U+009F
    if (first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) return "has a control character";
    text.remove_prefix(length);
  }
  return {};
}

}  // namespace

std::string_view channel_problem(std::string_view name) noexcept {
  if (name.empty()) return "is empty";
  return event_name_problem(name);
}

std::string_view event_name_problem(std::string_view name) noexcept {
  if (name.size() > kMaxName) return "is longer than 255 bytes";
  return text_problem(name);
}

}  // namespace m0::pubsub
