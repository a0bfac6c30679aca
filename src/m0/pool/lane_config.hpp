#pragma once
// The settings of one lane.

#include <chrono>
#include <cstddef>
#include <string>

#include "m0/base/clock.hpp"

namespace m0::pool {

struct LaneConfig {
  std::string name = "default";
  unsigned threads = 8;       // kept for the lane's life
  unsigned max_threads = 64;  // grown to while every thread is blocked; equal to `threads`: never grows
  unsigned parallelism = 1;   // threads that can make progress at once: 1 under an interpreter lock, else the cores
  std::size_t queue = 1024;   // jobs that may wait; one more is refused
  /// A job that waited this long is given up by whoever submitted it (the pool itself has no part in that); zero:
  /// never.
  base::Duration queue_timeout = base::Duration::zero();
  base::Duration retire_after = std::chrono::seconds(60);  // an extra thread that idled this long ends
};

}  // namespace m0::pool
