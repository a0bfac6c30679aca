#pragma once
// Where a log's lines end: a pipe, a terminal, a file, a socket, that other programs may share. Its flags are never
// changed, so whether a write would wait is asked before each one.

#include <cstddef>
#include <span>
#include <string>

#include "m0/base/clock.hpp"

namespace m0::base {

enum class SinkState : std::uint8_t {
  Wrote,   // everything, or what fits now
  Full,    // its reader does not read: nothing was written
  Failed,  // closed pipe, full disk, bad descriptor: these lines are lost
};

struct SinkResult {
  SinkState state;
  std::size_t bytes = 0;
  int error = 0;  // of Failed: the errno
};

/// One thread at a time. Does not own its descriptor.
class LogSink {
 public:
  constexpr LogSink() noexcept = default;
  explicit LogSink(int fd) noexcept;

  [[nodiscard]] bool open() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }

  /// Writes lines, the first without its first `skip` bytes, as many as go in one piece. On a pipe that is PIPE_BUF, so
  /// that lines of several processes do not mix.
  [[nodiscard]] SinkResult write(std::span<const std::string> lines, std::size_t skip) noexcept;

  /// Until it can take more or the time is over.
  void wait_writable(Duration at_most) const noexcept;

 private:
  int fd_ = -1;
  bool pipe_ = false;
  bool socket_ = false;
};

/// A second opening of the pipe behind `sink`, with O_NONBLOCK of its own: two processes that share a pipe may both
/// find room in it and only one be right, so asking first is not enough for a thread that must not wait. Falls back to
/// the first where that is impossible (another user's pipe, not a pipe).
class UnblockedSink {
 public:
  explicit UnblockedSink(LogSink& sink) noexcept;
  ~UnblockedSink();
  UnblockedSink(const UnblockedSink&) = delete;
  UnblockedSink& operator=(const UnblockedSink&) = delete;
  [[nodiscard]] LogSink& get() noexcept { return reopened_.open() ? reopened_ : *first_; }

 private:
  LogSink* first_;
  LogSink reopened_;
};

}  // namespace m0::base
