// The upper bound: what a server on one thread could do if there were no HTTP to parse and no application to call.
// Answers a constant to whatever ends in an empty line.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

// As long as what the servers beside it send, so that the kernel's part is the same.
constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\n"
    "Server: raw-epoll\r\n"
    "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 13\r\n"
    "\r\n"
    "Hello, world!";

int fail(const char* what) {
  std::perror(what);
  return 1;
}

bool watch(int epoll, int fd) {
  epoll_event interest{};
  interest.events = EPOLLIN;
  interest.data.fd = fd;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &interest) == 0;
}

void accept_one(int epoll, int listener) {
  const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (!watch(epoll, fd)) ::close(fd);
}

void answer(int fd) {
  std::array<char, 16 * 1024> buffer;
  const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (got <= 0) {
    ::close(fd);
    return;
  }
  if (!std::string_view(buffer.data(), static_cast<std::size_t>(got)).ends_with("\r\n\r\n")) return;
  if (::send(fd, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(kAnswer.size())) ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("raw_epoll PORT\n", stderr);
    return 2;
  }
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return fail("bind");
  if (::listen(listener, 4096) != 0) return fail("listen");
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  if (!watch(epoll, listener)) return fail("epoll_ctl");
  std::array<epoll_event, 256> events;
  for (;;) {
    const int count = ::epoll_wait(epoll, events.data(), events.size(), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      fd == listener ? accept_one(epoll, listener) : answer(fd);
    }
  }
}
