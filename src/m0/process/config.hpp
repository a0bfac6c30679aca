#pragma once
// What the program is told.

#include <chrono>
#include <string>
#include <vector>

#include "m0/base/clock.hpp"
#include "m0/base/logger.hpp"
#include "m0/server/config.hpp"

namespace m0::process {

struct Config {
  std::vector<std::string> binds = {"127.0.0.1:8000"};
  unsigned workers = 1;
  bool preload = false;
  bool fork = true;  // --no-fork: supervisor, worker and application in one process
  int backlog = 2048;
  base::LogLevel log_level = base::LogLevel::Info;
  server::Config server;
};

}  // namespace m0::process
