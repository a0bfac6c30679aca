#include "m0/net/tcp_transport.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "m0/base/fd_registry.hpp"

namespace m0::net {
namespace {

// EAGAIN: the kernel's buffer is full or empty. ENOBUFS and ENOMEM pass too: epoll will say when to try again.
// Everything else (ECONNRESET, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETDOWN ...) means that the peer cannot be reached.
Moved failed() noexcept {
  const bool later = errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM;
  return {later ? Moved::What::WouldBlock : Moved::What::Gone, 0};
}

// The system calls themselves: recv() and send() are cancellation points of glibc, which in a process of several
// threads pays for two atomic exchanges a call, 1.3 % of what a request costs (perf, a LoopHandler's hello).
ssize_t receive(int socket, std::span<char> into) noexcept {
  return ::syscall(SYS_recvfrom, socket, into.data(), into.size(), 0, nullptr, nullptr);
}
ssize_t send(int socket, const iovec& piece, int flags) noexcept {
  return ::syscall(SYS_sendto, socket, piece.iov_base, piece.iov_len, flags, nullptr, 0);
}

}  // namespace

Moved TcpTransport::read(std::span<char> into) noexcept {
  for (;;) {
    const ssize_t got = receive(socket_.get(), into);
    if (got > 0) return {Moved::What::Some, static_cast<std::size_t>(got)};
    if (got == 0) return {Moved::What::Ended, 0};
    if (errno != EINTR) return failed();
  }
}

Moved TcpTransport::write(std::span<const iovec> pieces, bool more) noexcept {
  const int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
  for (;;) {
    ssize_t sent = 0;
    if (pieces.size() == 1) {  // send() is a little cheaper than sendmsg()
      sent = send(socket_.get(), pieces[0], flags);
    } else {
      msghdr message{};
      message.msg_iov = const_cast<iovec*>(pieces.data());
      message.msg_iovlen = pieces.size();
      sent = ::sendmsg(socket_.get(), &message, flags);
    }
    if (sent >= 0) return {Moved::What::Some, static_cast<std::size_t>(sent)};
    if (errno != EINTR) return failed();
  }
}

Moved TcpTransport::send_file(int file, std::uint64_t offset, std::size_t count) noexcept {
  for (;;) {
    auto at = static_cast<off_t>(offset);
    const ssize_t sent = ::sendfile(socket_.get(), file, &at, count);
    if (sent > 0) return {Moved::What::Some, static_cast<std::size_t>(sent)};
    if (sent == 0) return {Moved::What::Ended, 0};
    // EINVAL, EIO: the file cannot be sent; the answer cannot be completed either.
    if (errno != EINTR) return failed();
  }
}

void TcpTransport::expect_long_silence() noexcept {
  constexpr int kNotSent = 16 * 1024;
  constexpr int kSendBuffer = 64 * 1024;  // the kernel doubles it for its own accounting
  constexpr unsigned kMilliseconds = kSilence * 1000;
  // The first two do not exist for a Unix socket, whose peer cannot vanish without a word.
  static_cast<void>(::setsockopt(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kMilliseconds, sizeof kMilliseconds));
  static_cast<void>(::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kNotSent, sizeof kNotSent));
  static_cast<void>(::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer));
}

void TcpTransport::shutdown_write() noexcept { static_cast<void>(::shutdown(socket_.get(), SHUT_WR)); }

void TcpTransport::close(bool reset) noexcept {
  if (!socket_) return;
  if (reset) {  // no shutdown: it would send an orderly end first
    const linger hard{1, 0};
    static_cast<void>(::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard));
  } else if (base::fd_registry::has_forked()) {
    // A child that the application forked may hold a copy for a moment: the peer is told all the same. Costs one system
    // call, so only in a process that has forked at all.
    static_cast<void>(::shutdown(socket_.get(), SHUT_RDWR));
  }
  socket_.reset();
}

}  // namespace m0::net
