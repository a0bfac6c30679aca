#pragma once
// The program, once it is known what it is to do.

#include "m0/handler/application.hpp"
#include "m0/process/config.hpp"
#include "m0/process/supervisor.hpp"

namespace m0::process {

/// Opens the listeners, starts the workers, serves until a signal; returns the exit code. With Config::fork false
/// everything happens in this process. The caller leaves with this code.
[[nodiscard]] int run(const Config& config, handler::Application& application, const ForkHook& fork);

}  // namespace m0::process
