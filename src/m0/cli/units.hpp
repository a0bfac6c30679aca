#pragma once
// Numbers with units, as people write them: 30s, 500ms, 64k, 1g.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "m0/base/clock.hpp"

namespace m0::cli {

/// 500us, 500ms, 30s, 2m, 1h, 1d; a plain number is seconds. The error is what is wrong, for the end of a sentence.
[[nodiscard]] std::expected<base::Duration, std::string> parse_duration(std::string_view text);

/// 512, 64k, 64m, 1g, 1t (powers of 1024; "kb" and "KiB" are the same); a plain number is bytes.
[[nodiscard]] std::expected<std::uint64_t, std::string> parse_bytes(std::string_view text);

/// A whole number without a sign.
[[nodiscard]] std::expected<std::uint64_t, std::string> parse_count(std::string_view text);

/// 1, true, yes, on; 0, false, no, off.
[[nodiscard]] std::expected<bool, std::string> parse_switch(std::string_view text);

/// The shortest text that parses to the same value.
[[nodiscard]] std::string format_duration(base::Duration duration);
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

}  // namespace m0::cli
