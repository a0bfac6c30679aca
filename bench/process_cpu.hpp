#pragma once
// What a server's processes have taken.

#include <sys/types.h>
#include <time.h>

#include <stdexcept>
#include <vector>

namespace m0::bench {

/// Seconds of CPU, user and system, of these processes so far, in the kernel's own precision: /proc counts in
/// hundredths, which is a tenth of what some measurements are. Throws where one of them is gone.
inline double cpu_seconds(const std::vector<pid_t>& processes) {
  double sum = 0;
  for (const pid_t process : processes) {
    clockid_t clock{};
    timespec taken{};
    if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &taken) != 0) {
      throw std::runtime_error("a process of the server is gone");
    }
    sum += static_cast<double>(taken.tv_sec) + static_cast<double>(taken.tv_nsec) / 1e9;
  }
  return sum;
}

}  // namespace m0::bench
