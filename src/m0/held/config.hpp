#pragma once
// What is told of held connections.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "m0/base/clock.hpp"

namespace m0::held {

struct Config {
  base::Duration keep_alive = std::chrono::seconds(25);   // between two signs of life, unless the answer says otherwise
  base::Duration drain_spread = std::chrono::seconds(5);  // over which clients are sent away, and come back
  unsigned retry_ms = 2000;                               // the reconnection time that event streams are told
  std::size_t max_message = std::size_t{1} << 20U;  // bytes of a WebSocket's message, and of the frame that answers
  std::size_t closes_at_once = 1;                   // "close" events that one worker's views hear at once
  std::vector<std::string> allowed_origins = {};    // "https://example.com", beside the request's own; "*": any
};

/// What is wrong with an element of allowed_origins, for the end of a sentence; empty where nothing is.
[[nodiscard]] std::string_view origin_problem(std::string_view origin) noexcept;

}  // namespace m0::held
