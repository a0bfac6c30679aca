#pragma once
// How the program ends.

namespace m0::process {

inline constexpr int kExitClean = 0;    // also when the graceful time expired, or a second signal cut it short
inline constexpr int kExitFailed = 1;   // the application failed to load or could not be kept running
inline constexpr int kExitUsage = 2;    // a flag or value is wrong
inline constexpr int kExitConfig = 78;  // the configuration as a whole cannot work here (EX_CONFIG of sysexits.h)

}  // namespace m0::process
