#pragma once
// The log: lines go into a bounded ring and one writer thread a process puts them out, so that a reader that stops
// reading, or a full disk, stops nothing. A line that finds the ring full is dropped and counted.

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "m0/base/clock.hpp"

namespace m0::base {

enum class LogLevel : std::uint8_t { Debug, Info, Warning, Error, Critical, Off };

/// "debug", "info", "warning", "error", "critical": the words of --log-level. False when it is none of them.
[[nodiscard]] bool parse_log_level(std::string_view word, LogLevel& level) noexcept;

namespace log {

/// Lines below this level are not formatted. Any thread.
[[nodiscard]] bool enabled(LogLevel level) noexcept;
void set_level(LogLevel level) noexcept;

/// Opens the access log: a path (appended, created 0644), "-" for standard output. Empty: none. Throws
/// std::system_error. Before the writer starts.
void open_access(const std::string& path);

/// Starts this process's writer thread (all signals blocked in it). Before it runs, and after stop_writer, a line is
/// written at once by the caller, without waiting on a pipe that is full. After a fork the child calls it again.
void start_writer();
/// Writes what is queued, waiting at most `within` for slow readers, and ends the thread.
void stop_writer(Duration within) noexcept;

/// One line of the server's log on standard error: "<time> [<pid>] [<level>] <text>". Control characters in `text`
/// other than newline and tab are escaped, so that nobody forges a line; each further line of a text (a traceback) is
/// written as it is. Never blocks. Any thread.
void write(LogLevel level, std::string_view text) noexcept;

/// One line of the access log, as it is, a newline added. Never blocks. Any thread.
void write_access(std::string&& line) noexcept;

template <class... Args>
void emit(LogLevel level, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (!enabled(level)) return;
  try {
    write(level, fmt::format(format, std::forward<Args>(args)...));
  } catch (...) {  // no memory for a log line: it is lost, the caller is not
  }
}

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) noexcept {
  emit(LogLevel::Debug, format, std::forward<Args>(args)...);
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) noexcept {
  emit(LogLevel::Info, format, std::forward<Args>(args)...);
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) noexcept {
  emit(LogLevel::Warning, format, std::forward<Args>(args)...);
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) noexcept {
  emit(LogLevel::Error, format, std::forward<Args>(args)...);
}

}  // namespace log
}  // namespace m0::base
