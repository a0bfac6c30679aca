#pragma once
// The values of --lane and --mount: a prefix, and the words of a lane after it.

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "m0/process/config.hpp"

namespace m0::cli {

/// The bounds of a lane's numbers, here and in the options of the default lane.
inline constexpr unsigned kMostThreads = 4096;
inline constexpr std::size_t kLongestQueue = 1'000'000;
inline constexpr base::Duration kLongestWait = std::chrono::hours(24);

/// What --mount says.
struct MountWords {
  std::string prefix;
  std::string application;  // MODULE[:ATTR]
  std::optional<pool::LaneConfig> lane;
};

/// How many threads: `threads` alone is exactly that many, `most` alone grows to it from what the lane has. False: more
/// threads than most.
[[nodiscard]] bool set_threads(pool::LaneConfig& lane, std::optional<unsigned> threads, std::optional<unsigned> most);

/// PREFIX[,threads=N][,max-threads=M][,queue=N][,queue-timeout=TIME]. The error is what is wrong, in one sentence.
[[nodiscard]] std::expected<server::LaneRule, std::string> parse_lane(std::string_view text);

/// PREFIX=MODULE[:ATTR], then the words of a lane.
[[nodiscard]] std::expected<MountWords, std::string> parse_mount(std::string_view text);

/// What is wrong with MODULE[:ATTR] as it is written; empty where nothing is.
[[nodiscard]] std::string application_problem(std::string_view application);

}  // namespace m0::cli
