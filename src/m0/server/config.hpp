#pragma once
// What one worker is told. Each member is bound once to a flag, a variable and a line of help in cli/options.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "m0/base/clock.hpp"
#include "m0/http/limits.hpp"
#include "m0/pool/lane_config.hpp"

namespace m0::server {

enum class AccessLogFormat : std::uint8_t { Combined, Json };

struct Timeouts {
  base::Duration head = std::chrono::seconds(10);      // a request's head, from its first byte
  base::Duration body = std::chrono::seconds(30);      // between two pieces of a body
  base::Duration idle = std::chrono::seconds(60);      // a kept connection without a request
  base::Duration write = std::chrono::seconds(60);     // between two pieces of an answer that the client takes
  base::Duration graceful = std::chrono::seconds(30);  // from a stop until what is left is ended
};

struct Config {
  http::Limits limits;
  Timeouts timeouts;
  pool::LaneConfig lane;
  std::size_t max_connections = 10'000;      // of one worker; more wait in the listener's backlog
  std::uint64_t body_memory = 256ULL << 20;  // what all bodies of a worker take in memory
  std::uint64_t body_disk = 8ULL << 30;      // and in temporary files
  std::string access_log;                    // path, "-" or empty
  AccessLogFormat access_log_format = AccessLogFormat::Combined;
};

}  // namespace m0::server
