#pragma once
// Where a measuring client asks.

#include <cstdint>
#include <string>
#include <string_view>

#include "m0/base/fd.hpp"

namespace m0::bench {

/// Of "http://127.0.0.1:8000/path?query". Throws std::invalid_argument for anything but that address.
struct Endpoint {
  std::uint16_t port = 0;
  std::string target;

  static Endpoint parse(std::string_view url);
};

/// A connection from 127.0.0.`from`, so that ports suffice for as many as are wanted. Blocks: over loopback it is
/// answered by the kernel, whatever the server does. Throws std::runtime_error.
base::Fd connect_from(std::uint8_t from, std::uint16_t port);

/// Sends all of it, or throws std::runtime_error.
void send_all(int fd, std::string_view bytes);

}  // namespace m0::bench
