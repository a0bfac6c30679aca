#include "m0/net/bind_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "m0/base/bytes.hpp"

namespace m0::net {
namespace {

constexpr std::string_view kForms = "write HOST:PORT, [IPV6]:PORT, :PORT or unix:PATH";

std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc{} || stopped != end) return {};
  return port;
}

bool all_digits(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::expected<BindAddress, std::string> parse_unix(std::string_view whole, std::string_view path) {
  if (path.starts_with("//")) path.remove_prefix(2);  // unix:///run/x, as a URL
  if (path.empty()) return std::unexpected(fmt::format("'{}' names no file: write unix:/run/app.sock", whole));
  if (path.front() == '@') {
    return std::unexpected(fmt::format("'{}' is an abstract socket, which has no permissions: name a file", whole));
  }
  if (path.find('\0') != std::string_view::npos) return std::unexpected("a path with a NUL byte names no file");
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return std::unexpected(fmt::format("'{}' is too long for a Unix socket: at most {} bytes of path", whole,
                                       sizeof(sockaddr_un::sun_path) - 1));
  }
  BindAddress address;
  address.path = path;
  return address;
}

}  // namespace

std::string BindAddress::text() const {
  if (is_unix()) return "unix:" + path;
  if (host.find(':') != std::string::npos) return fmt::format("[{}]:{}", host, port);
  return fmt::format("{}:{}", host, port);
}

std::expected<BindAddress, std::string> parse_bind_address(std::string_view text) {
  const std::string_view whole = text;
  if (text.empty()) return std::unexpected(fmt::format("the address is empty: {}", kForms));
  if (text.size() >= 5 && base::iequals(text.substr(0, 5), "unix:")) return parse_unix(whole, text.substr(5));
  if (text.find("://") != std::string_view::npos) {
    return std::unexpected(fmt::format("'{}' is a URL: {}", whole, kForms));
  }
  if (all_digits(text)) {
    return std::unexpected(
        fmt::format("'{0}' is only a port: write 127.0.0.1:{0} for this machine or :{0} for every interface", whole));
  }

  BindAddress address;
  std::string_view port;
  if (text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::unexpected(fmt::format("'{}' has no ']'", whole));
    address.host = text.substr(1, close - 1);
    if (address.host.find(':') == std::string::npos) {
      return std::unexpected(fmt::format("'{}' has no IPv6 address in its brackets: {}", whole, kForms));
    }
    text.remove_prefix(close + 1);
    if (text.empty() || text.front() != ':') {
      return std::unexpected(fmt::format("'{0}' has no port: write [{1}]:8000", whole, address.host));
    }
    port = text.substr(1);
  } else {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos)
      return std::unexpected(fmt::format("'{0}' has no port: write {0}:8000", whole));
    address.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (address.host.find(':') != std::string::npos) {
      return std::unexpected(fmt::format("'{}' is ambiguous: an IPv6 address goes in brackets, [::1]:8000", whole));
    }
    if (address.host == "*") address.host.clear();
  }
  if (address.host.find_first_of(std::string_view(" \t\r\n/\0", 6)) != std::string::npos) {
    return std::unexpected(fmt::format("'{}' has a host that cannot be one: {}", whole, kForms));
  }
  const std::optional<std::uint16_t> number = parse_port(port);
  if (!number) return std::unexpected(fmt::format("'{}' has no port from 0 to 65535: {}", whole, kForms));
  address.port = *number;
  return address;
}

std::uint16_t SocketAddress::port() const noexcept {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return 0;
}

void SocketAddress::set_port(std::uint16_t port) noexcept {
  if (family() == AF_INET) reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = htons(port);
}

bool SocketAddress::is_any() const noexcept {
  if (family() == AF_INET) return reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr.s_addr == INADDR_ANY;
  if (family() == AF_INET6) return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr);
  return false;
}

std::expected<std::vector<SocketAddress>, std::string> resolve(const BindAddress& address) {
  std::vector<SocketAddress> found;
  if (address.is_unix()) {
    SocketAddress at;
    auto* name = reinterpret_cast<sockaddr_un*>(&at.storage);
    name->sun_family = AF_UNIX;
    std::memcpy(name->sun_path, address.path.data(), address.path.size());
    at.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.path.size() + 1);
    found.push_back(at);
    return found;
  }

  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const std::string port = std::to_string(address.port);
  addrinfo* list = nullptr;
  const char* host = address.host.empty() ? "::" : address.host.c_str();
  const int failed = ::getaddrinfo(host, port.c_str(), &hints, &list);
  if (failed != 0) {
    return std::unexpected(fmt::format("the host of '{}' cannot be found ({}): write an address of this machine",
                                       address.text(), ::gai_strerror(failed)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, ::freeaddrinfo);
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    SocketAddress at;
    std::memcpy(&at.storage, each->ai_addr, each->ai_addrlen);
    at.size = each->ai_addrlen;
    const bool again = std::ranges::any_of(found, [&](const SocketAddress& known) {
      return known.size == at.size && std::memcmp(&known.storage, &at.storage, at.size) == 0;
    });
    if (!again) found.push_back(at);
  }
  if (found.empty()) return std::unexpected(fmt::format("the host of '{}' has no IP address", address.text()));
  return found;
}

}  // namespace m0::net
