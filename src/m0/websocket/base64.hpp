#pragma once
// Base64 as RFC 4648 section 4 writes it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace m0::websocket {

/// Appends `bytes`, padded. Any thread.
void append_base64(std::string& out, std::span<const std::uint8_t> bytes);

/// How many bytes `text` stands for; nothing where it is not strictly base64: padded to a multiple of four characters,
/// nothing foreign, and no bits that are dropped (RFC 4648 3.5). Any thread.
[[nodiscard]] std::optional<std::size_t> base64_size(std::string_view text) noexcept;

}  // namespace m0::websocket
