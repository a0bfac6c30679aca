#pragma once
// What one worker is told. Each member is bound once to a flag, a variable and a line of help in cli/options.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "m0/base/clock.hpp"
#include "m0/held/config.hpp"
#include "m0/http/limits.hpp"
#include "m0/pool/lane_config.hpp"

namespace m0::server {

enum class AccessLogFormat : std::uint8_t { Combined, Json };

struct Timeouts {
  base::Duration head = std::chrono::seconds(10);      // a request's head, from its first byte
  base::Duration body = std::chrono::seconds(30);      // between two pieces of a body
  base::Duration idle = std::chrono::seconds(60);      // a kept connection without a request
  base::Duration write = std::chrono::seconds(60);     // between two pieces of an answer that the client takes
  base::Duration silence = std::chrono::seconds(30);   // of a stream, to a client that has ended its side
  base::Duration graceful = std::chrono::seconds(30);  // from a stop until what is left is ended
};

/// What answers under a prefix.
struct Mount {
  std::string prefix;                         // "" for the root, or "/shop"; prefix_problem() says what it may be
  std::uint16_t target = 0;                   // which part of the application; the door counts them
  bool on_loop = false;                       // answered on the loop's own thread, by code that promises not to block
  std::optional<pool::LaneConfig> lane = {};  // threads of its own
};

/// Threads of its own for a prefix, whatever is mounted there.
struct LaneRule {
  std::string prefix;
  pool::LaneConfig lane;
};

/// What is wrong with a prefix, for the end of a sentence; empty where nothing is.
[[nodiscard]] std::string prefix_problem(std::string_view prefix);

struct Config {
  http::Limits limits;
  held::Config held;
  Timeouts timeouts;
  pool::LaneConfig lane;  // of all that has none of its own
  std::vector<Mount> mounts = {{"", 0, false, {}}};
  std::vector<LaneRule> lanes;
  std::size_t max_connections = 10'000;      // of one worker; more wait in the listener's backlog
  std::uint64_t body_memory = 256ULL << 20;  // what all bodies of a worker take in memory
  std::uint64_t body_disk = 8ULL << 30;      // and in temporary files
  std::string access_log;                    // path, "-" or empty
  AccessLogFormat access_log_format = AccessLogFormat::Combined;
};

}  // namespace m0::server
