#pragma once
// "Did you mean": what somebody probably wanted to type.

#include <span>
#include <string>
#include <string_view>

namespace m0::cli {

/// How many letters are to be inserted, removed, replaced or swapped with their neighbour to make one of the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known` to the unknown flag `name` (both without dashes): mistyped, cut short, or another server's
/// word for it. Empty where nothing is near.
[[nodiscard]] std::string suggest(std::string_view name, std::span<const std::string_view> known);

}  // namespace m0::cli
