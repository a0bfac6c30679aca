#include "client_connection.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace m0::bench {

ClientConnection::ClientConnection(std::uint16_t port, std::string_view path, bool keep)
    : question_(fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}\r\n", path, port,
                            keep ? "" : "Connection: close\r\n")),
      port_(port),
      keep_(keep) {}

bool ClientConnection::connect(int epoll, std::uint64_t tag) {
  base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  // Connecting blocks: over loopback it is answered by the kernel, whatever the server does.
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
  epoll_event interest{};
  interest.events = EPOLLIN;
  interest.data.u64 = tag;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd.get(), &interest) != 0) return false;
  fd_ = std::move(fd);
  return true;
}

bool ClientConnection::ask(int epoll, std::uint64_t tag) {
  reader_.reset();
  // A kept connection may have been closed meanwhile; that shows in the send, and the second try opens a new one.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!fd_ && !connect(epoll, tag)) return false;
    const ssize_t sent = ::send(fd_.get(), question_.data(), question_.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(question_.size())) {
      busy_ = true;
      return true;
    }
    fd_.reset();
  }
  return false;
}

ClientConnection::Outcome ClientConnection::finish(Outcome outcome) {
  busy_ = false;
  if (outcome == Outcome::Failed || !keep_ || reader_.closes()) fd_.reset();
  return outcome;
}

ClientConnection::Outcome ClientConnection::receive() {
  std::array<char, 16 * 1024> buffer;
  const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Outcome::Waiting;
  if (!busy_) {  // nothing was asked: the server closed a kept connection
    fd_.reset();
    return Outcome::Waiting;
  }
  if (got <= 0) return finish(Outcome::Failed);
  switch (reader_.feed({buffer.data(), static_cast<std::size_t>(got)})) {
    case AnswerReader::State::Reading: return Outcome::Waiting;
    case AnswerReader::State::Complete: return finish(reader_.status() == 200 ? Outcome::Answered : Outcome::Failed);
    case AnswerReader::State::Bad: break;
  }
  return finish(Outcome::Failed);
}

}  // namespace m0::bench
