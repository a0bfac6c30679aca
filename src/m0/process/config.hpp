#pragma once
// What the program is told.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "m0/base/clock.hpp"
#include "m0/base/logger.hpp"
#include "m0/pubsub/event_log.hpp"
#include "m0/server/config.hpp"

namespace m0::process {

struct Config {
  std::vector<std::string> binds = {"127.0.0.1:8000"};
  unsigned workers = 1;
  bool preload = false;
  bool fork = true;  // --no-fork: supervisor, worker and application in one process
  int backlog = 2048;
  unsigned unix_mode = 0666;  // of a Unix socket's file
  base::LogLevel log_level = base::LogLevel::Info;
  std::size_t event_log_size = pubsub::LogConfig{}.size;
  std::size_t max_event = pubsub::LogConfig{}.max_event;
  std::string event_log;  // its file; empty: it ends with the server
  /// Where the control socket lies; empty: there is none. Not said: named by the first address.
  std::optional<std::string> control;
  bool control_inherited = false;  // the variable said it: it may name the server whose view started this one
  std::string control_group;       // may use it too
  server::Config server;
};

/// Of a log that as many workers read.
[[nodiscard]] pubsub::LogConfig log_config(const Config& config) noexcept;

/// Whether an application can be asked by two threads of a worker at the same time.
[[nodiscard]] bool multithread(const Config& config);

/// What is wrong with the words of a --bind: one sentence that names the fix; empty where nothing is.
[[nodiscard]] std::string bind_problem(std::string_view text);

}  // namespace m0::process
