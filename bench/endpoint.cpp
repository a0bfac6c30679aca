#include "endpoint.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <system_error>

namespace m0::bench {
namespace {

constexpr std::string_view kScheme = "http://127.0.0.1:";

sockaddr_in loopback(std::uint32_t host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl((std::uint32_t{127} << 24) + host);
  return address;
}

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

Endpoint Endpoint::parse(std::string_view url) {
  Endpoint found;
  const std::string_view rest = url.starts_with(kScheme) ? url.substr(kScheme.size()) : std::string_view{};
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), found.port);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc{} || found.port == 0 || !rest.substr(digits).starts_with('/')) {
    throw std::invalid_argument("not http://127.0.0.1:PORT/...: " + std::string(url));
  }
  found.target = rest.substr(digits);
  return found;
}

base::Fd connect_from(std::uint8_t from, std::uint16_t port) {
  base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  // The port is chosen when the connection is made, so that one port serves for each address that is asked.
  ::setsockopt(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
  const sockaddr_in own = loopback(from, 0);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) fail("bind");
  const sockaddr_in server = loopback(1, port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) fail("connect");
  return fd;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) fail("send");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace m0::bench
