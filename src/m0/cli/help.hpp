#pragma once
// The table of options as a person reads it: --help, and the page docs/options.md.

#include <span>
#include <string>

#include "m0/cli/options.hpp"

namespace m0::cli {

[[nodiscard]] std::string version_text();
[[nodiscard]] std::string help_text(std::span<const Option> options, Door door, std::string_view program);
[[nodiscard]] std::string options_page(std::span<const Option> options);

}  // namespace m0::cli
