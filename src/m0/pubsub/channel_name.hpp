#pragma once
// What a channel may be called.

#include <string_view>

namespace m0::pubsub {

/// What is wrong with the name of a channel, for the end of a sentence; empty where nothing is. 1 to 255 bytes of UTF-8
/// without control characters (C0, DEL, C1).
[[nodiscard]] std::string_view channel_problem(std::string_view name) noexcept;

/// The same for the type of an event: up to 255 bytes of UTF-8 without control characters, or empty.
[[nodiscard]] std::string_view event_name_problem(std::string_view name) noexcept;

}  // namespace m0::pubsub
