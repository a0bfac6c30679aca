#include "m0/net/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace m0::net {

PeerName to_peer_name(const sockaddr_storage& from) noexcept {
  PeerName peer;
  if (from.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(from);
    std::memcpy(peer.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    peer.port = ntohs(v4.sin_port);
    peer.family = PeerName::Family::V4;
  } else if (from.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(from);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      std::memcpy(peer.bytes.data(), &v6.sin6_addr.s6_addr[12], 4);
      peer.family = PeerName::Family::V4;
    } else {
      std::memcpy(peer.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
      peer.family = PeerName::Family::V6;
    }
    peer.port = ntohs(v6.sin6_port);
  }
  return peer;
}

std::string address_text(const PeerName& peer) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  switch (peer.family) {
    case PeerName::Family::V4: ::inet_ntop(AF_INET, peer.bytes.data(), text.data(), text.size()); break;
    case PeerName::Family::V6: ::inet_ntop(AF_INET6, peer.bytes.data(), text.data(), text.size()); break;
    case PeerName::Family::None: break;
  }
  return text.data();
}

Accepted::What classify_accept_error(int error) noexcept {
  switch (error) {
    case EAGAIN:
#if EWOULDBLOCK != EAGAIN
    case EWOULDBLOCK:
#endif
      return Accepted::What::WouldBlock;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return Accepted::What::Exhausted;
    case ECONNABORTED:
    case EPERM:  // a firewall rule
    // accept4(2): errors of the network that were pending on the new socket are to be treated like a retry.
    case ENETDOWN:
    case EPROTO:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case ETIMEDOUT:
    case ESOCKTNOSUPPORT:
    case EPROTONOSUPPORT: return Accepted::What::PeerGone;
    default:  // EBADF, EFAULT, EINVAL, ENOTSOCK
      return Accepted::What::Broken;
  }
}

Accepted accept_one(int listener) noexcept {
  Accepted result;
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  int fd = -1;
  do {
    fd = ::accept4(listener, reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    result.error = errno;
    result.what = classify_accept_error(errno);
    return result;
  }
  if (fd < kLowestSocket) {
    // EINVAL where the limit is below that, EMFILE where the room above is used up: then a low number has to do.
    const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, kLowestSocket);
    if (high >= 0) {
      ::close(fd);
      fd = high;
    }
  }
  result.what = Accepted::What::Socket;
  result.socket = base::Fd(fd);
  result.peer = to_peer_name(from);
  return result;
}

std::uint64_t raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  return limit.rlim_cur;
}

}  // namespace m0::net
