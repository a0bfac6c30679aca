#pragma once
// The words of --bind: HOST:PORT, [V6]:PORT, :PORT (every interface), unix:PATH.

#include <sys/socket.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace m0::net {

/// A value; any thread.
struct BindAddress {
  std::string host;  // a name or an address without brackets; empty: every interface
  std::uint16_t port = 0;
  std::string path;  // of a Unix socket; then the others are empty

  [[nodiscard]] bool is_unix() const noexcept { return !path.empty(); }
  /// As it is written: "127.0.0.1:8000", "[::1]:8000", "unix:/run/app.sock".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const BindAddress&, const BindAddress&) = default;
};

/// The error is one sentence that names the fix.
[[nodiscard]] std::expected<BindAddress, std::string> parse_bind_address(std::string_view text);

/// An address for the kernel.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] int family() const noexcept { return storage.ss_family; }
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  /// 0.0.0.0 or [::].
  [[nodiscard]] bool is_any() const noexcept;
};

/// Asks the resolver where `address` has a name: at start-up only, it may wait for the network. Every interface is one
/// address, [::], which serves IPv4 too. The error is one sentence.
[[nodiscard]] std::expected<std::vector<SocketAddress>, std::string> resolve(const BindAddress& address);

}  // namespace m0::net
