#include "m0/base/log_sink.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>

namespace m0::base {
namespace {

constexpr std::size_t kMostLines = 64;
constexpr std::size_t kMostBytes = 64 * 1024;

}  // namespace

LogSink::LogSink(int fd) noexcept : fd_(fd) {
  struct stat what{};
  if (fd < 0 || ::fstat(fd, &what) != 0) return;
  pipe_ = S_ISFIFO(what.st_mode);
  socket_ = S_ISSOCK(what.st_mode);
}

SinkResult LogSink::write(std::span<const std::string> lines, std::size_t skip) noexcept {
  const std::size_t most = pipe_ ? PIPE_BUF : kMostBytes;
  std::array<iovec, kMostLines> pieces;
  std::size_t count = 0;
  std::size_t total = 0;
  for (const std::string& line : lines.first(std::min(lines.size(), kMostLines))) {
    const std::size_t size = line.size() - skip;
    if (total + size > most && total != 0) break;
    const std::size_t part = std::min(size, most - total);
    pieces[count++] = {const_cast<char*>(line.data()) + skip, part};
    total += part;
    skip = 0;
    if (part != size) break;
  }

  for (;;) {
    // A pipe is writable when a whole page is free, so PIPE_BUF bytes go without waiting.
    pollfd ask{fd_, POLLOUT, 0};
    const int ready = ::poll(&ask, 1, 0);
    if (ready == 0) return {SinkState::Full};
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return {SinkState::Failed, 0, errno};
    if ((ask.revents & POLLNVAL) != 0) return {SinkState::Failed, 0, EBADF};

    ssize_t done = 0;
    if (socket_) {
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = count;
      done = ::sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
      done = ::writev(fd_, pieces.data(), static_cast<int>(count));
    }
    if (done >= 0) return {SinkState::Wrote, static_cast<std::size_t>(done)};
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {SinkState::Full};
    // EPIPE, ENOSPC, EDQUOT, EFBIG, EIO, EBADF: whatever it is, the server goes on.
    return {SinkState::Failed, 0, errno};
  }
}

void LogSink::wait_writable(Duration at_most) const noexcept {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count();
  pollfd ask{fd_, POLLOUT, 0};
  ::poll(&ask, 1, static_cast<int>(std::clamp<long long>(ms, 0, 60'000)));
}

UnblockedSink::UnblockedSink(LogSink& sink) noexcept : first_(&sink) {
  struct stat what{};
  if (!sink.open() || ::fstat(sink.fd(), &what) != 0 || !S_ISFIFO(what.st_mode)) return;
  std::array<char, 40> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", sink.fd());
  const int fd = ::open(path.data(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd >= 0) reopened_ = LogSink(fd);
}

UnblockedSink::~UnblockedSink() {
  if (reopened_.open()) ::close(reopened_.fd());
}

}  // namespace m0::base
