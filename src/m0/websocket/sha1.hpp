#pragma once
// SHA-1 (RFC 3174), for the one place where RFC 6455 asks for it. There it shows that a peer has read the handshake; it
// protects nothing, and is not for anything that has to be protected.

#include <array>
#include <cstdint>
#include <string_view>

namespace m0::websocket {

using Sha1Digest = std::array<std::uint8_t, 20>;

/// Any thread.
[[nodiscard]] Sha1Digest sha1(std::string_view message) noexcept;

}  // namespace m0::websocket
