#pragma once
// Accepting: one socket out of a listener, with every way in which that can fail told apart by what is to be done.

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>

#include "m0/base/fd.hpp"

namespace m0::net {

/// Who is at the other end, compact. A value; any thread.
struct PeerName {
  enum class Family : std::uint8_t { None, V4, V6 };
  std::array<std::uint8_t, 16> bytes{};  // network order; V4 in the first four
  std::uint16_t port = 0;
  Family family = Family::None;  // None: a Unix socket
  friend bool operator==(const PeerName&, const PeerName&) = default;
};

/// An IPv4 client of an IPv6 listener (::ffff:a.b.c.d) is told as the IPv4 client that it is.
[[nodiscard]] PeerName to_peer_name(const sockaddr_storage& from) noexcept;

/// "192.0.2.7", "2001:db8::7", "" for a Unix socket.
[[nodiscard]] std::string address_text(const PeerName& peer);

struct Accepted {
  enum class What : std::uint8_t {
    Socket,      // `socket` is non-blocking, close-on-exec, without Nagle's delay where it is TCP
    WouldBlock,  // nobody waits, or another worker was faster
    PeerGone,    // this one left before it was taken: try the next
    Exhausted,   // no descriptors or no memory: not before something was closed
    Broken,      // the listener itself: closed, shut down, not a listener
  };
  What what = What::WouldBlock;
  int error = 0;  // the errno of the last three
  base::Fd socket;
  PeerName peer;
};

/// Accepted sockets live from here up, so that select() in the application, which knows descriptors below 1024 only,
/// still works with thousands of connections.
inline constexpr int kLowestSocket = 1024;

/// What a failed accept4 means.
[[nodiscard]] Accepted::What classify_accept_error(int error) noexcept;

/// One loop's thread. Never waits.
[[nodiscard]] Accepted accept_one(int listener) noexcept;

/// Raises the soft limit of descriptors to the hard one, as far as the kernel lets it; returns the soft limit. At
/// start.
std::uint64_t raise_descriptor_limit() noexcept;

}  // namespace m0::net
