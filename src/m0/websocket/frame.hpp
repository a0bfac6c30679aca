#pragma once
// How a frame is written, and how its payload is unmasked (RFC 6455 sections 5.2 and 5.3).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace m0::websocket {

/// RFC 6455 5.2. The other values of the four bits are reserved.
enum class Opcode : std::uint8_t { Continuation = 0x0, Text = 0x1, Binary = 0x2, Close = 0x8, Ping = 0x9, Pong = 0xa };

[[nodiscard]] constexpr bool is_control(Opcode opcode) noexcept { return (static_cast<unsigned>(opcode) & 0x8U) != 0; }

/// The bits of a frame's first byte.
inline constexpr std::uint8_t kFin = 0x80;
inline constexpr std::uint8_t kRsv1 = 0x40;
inline constexpr std::uint8_t kRsv2 = 0x20;
inline constexpr std::uint8_t kRsv3 = 0x10;
inline constexpr std::uint8_t kOpcodeBits = 0x0f;
/// And of its second.
inline constexpr std::uint8_t kMasked = 0x80;
inline constexpr std::uint8_t kLengthBits = 0x7f;
inline constexpr std::uint8_t kLength16 = 126;  // the length is in the next two bytes
inline constexpr std::uint8_t kLength64 = 127;  // the length is in the next eight bytes

/// RFC 6455 5.5: the payload of a control frame.
inline constexpr std::size_t kMaxControl = 125;

/// A frame's first byte.
struct FrameKind {
  Opcode opcode;
  bool fin = true;
  bool compressed = false;  // RSV1 (RFC 7692 6): the message is compressed; on its first frame only
};

/// Appends the header of a server's frame: never masked (RFC 6455 5.1), the length in the shortest form. At most ten
/// bytes; the payload is the caller's to send behind it.
void append_header(std::string& out, FrameKind kind, std::uint64_t length);

void append_frame(std::string& out, FrameKind kind, std::string_view payload);

/// Appends a close frame. close_code::kNoStatus makes it empty; any other code has to be one that a server may send.
/// The reason is cut where it is no UTF-8 or too long, never inside a character (RFC 6455 5.5.1).
void append_close(std::string& out, std::uint16_t code, std::string_view reason = {});

/// In the order in which the bytes come.
using Mask = std::array<std::uint8_t, 4>;

/// Masks or unmasks in place (RFC 6455 5.3: the same). `bytes` begin `offset` bytes into the frame's payload.
void unmask(std::span<char> bytes, Mask mask, std::uint64_t offset) noexcept;

/// Appends a client's frame: for tests, and for programs that measure.
void append_client_frame(std::string& out, FrameKind kind, Mask mask, std::string_view payload);

}  // namespace m0::websocket
