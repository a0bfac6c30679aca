#pragma once
// What is told of held connections.

#include <chrono>

#include "m0/base/clock.hpp"

namespace m0::held {

struct Config {
  base::Duration keep_alive = std::chrono::seconds(25);   // between two signs of life, unless the answer says otherwise
  base::Duration drain_spread = std::chrono::seconds(5);  // over which clients are sent away, and come back
  unsigned retry_ms = 2000;                               // the reconnection time that event streams are told
};

}  // namespace m0::held
