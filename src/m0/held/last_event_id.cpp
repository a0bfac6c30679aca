#include "m0/held/last_event_id.hpp"

#include <algorithm>
#include <string_view>

#include "m0/http/percent.hpp"

namespace m0::held {

std::string last_event_id(const http::RequestHead& request) {
  if (const std::string_view field = request.find("Last-Event-ID"); !field.empty()) return std::string(field);
  constexpr std::string_view kName = "last_event_id=";
  std::string_view query = request.query;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    if (pair.starts_with(kName)) {
      std::string value;
      http::percent_decode(pair.substr(kName.size()), value);
      return value;
    }
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
  }
  return {};
}

}  // namespace m0::held
