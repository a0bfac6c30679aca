#pragma once
// From words to an invocation: flags, then the environment, then defaults.

#include <expected>
#include <functional>
#include <span>
#include <string>

#include "m0/cli/invocation.hpp"

namespace m0::cli {

/// Gives the value of a variable, or nullptr: getenv, or a test's own.
using Environment = std::function<const char*(const char*)>;

/// `words` are the arguments without the program's name. At start-up.
[[nodiscard]] std::expected<Invocation, Exit> parse(std::span<const std::string> words, const Environment& environment,
                                                    Door door = Door::Python, std::string_view program = "m0serve");
[[nodiscard]] std::expected<Invocation, Exit> parse(int argc, char** argv, const Environment& environment,
                                                    Door door = Door::Python);

/// The process's own environment.
[[nodiscard]] Environment process_environment();

/// Prints the text where it belongs; returns the code.
int leave(const Exit& exit);

}  // namespace m0::cli
