#pragma once
// The processors that this process may use.

#include <sched.h>

#include <algorithm>
#include <thread>

namespace m0::base {

/// At least 1. Not the quota of a control group, which is time and not processors.
[[nodiscard]] inline unsigned usable_processors() noexcept {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0) {
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&usable)));
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

/// Between two looks of a thread that spins: leaves the core's other half more room.
inline void relax_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace m0::base
