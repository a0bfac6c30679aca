#pragma once
// What a command line says.

#include <chrono>
#include <string>
#include <vector>

#include "m0/base/clock.hpp"
#include "m0/process/config.hpp"

namespace m0::cli {

/// What only the Python door is told.
struct PythonSettings {
  std::string application;    // MODULE[:ATTR]
  bool factory = false;       // ATTR is called once and gives the application
  std::string app_dir = ".";  // first on the module search path
  std::string worker_start;   // MODULE:FUNC, called in each worker after the import; empty: nothing
  base::Duration switch_interval = std::chrono::milliseconds(1);
  /// MODULE[:ATTR] of each --mount; the first is target 1.
  std::vector<std::string> mounts;
};

struct Invocation {
  process::Config config;
  PythonSettings python;
};

/// The program ends here: it was asked for its help, or a word was wrong.
struct Exit {
  int code = 0;
  std::string text;  // whole lines
  bool to_stdout = false;
};

/// Which program is parsing: the options of the other door are not known to it.
enum class Door : std::uint8_t { Python, Native };

}  // namespace m0::cli
