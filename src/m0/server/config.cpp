#include "m0/server/config.hpp"

namespace m0::server {

std::string prefix_problem(std::string_view prefix) {
  if (prefix.empty()) return "";
  if (prefix.front() != '/') return "a prefix begins with a slash";
  if (prefix.back() == '/') return "a prefix ends without a slash";
  for (const char c : prefix) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f) return "a prefix has no spaces and no control characters";
    if (c == '?' || c == '#') return "a prefix is a path alone, without ? and #";
    if (c == '%') return "a prefix is written decoded, without %";
  }
  for (std::size_t at = 0; at < prefix.size();) {
    const std::size_t end = std::min(prefix.find('/', at + 1), prefix.size());
    const std::string_view segment = prefix.substr(at + 1, end - at - 1);
    if (segment.empty() || segment == "." || segment == "..") {
      return "a prefix has no empty segments, and none that is . or ..";
    }
    at = end;
  }
  return "";
}

}  // namespace m0::server
