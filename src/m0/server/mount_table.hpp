#pragma once
// Which application, and which lane of threads, answers what lies under a prefix.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "m0/pool/lane_config.hpp"
#include "m0/server/config.hpp"

namespace m0::server {

/// Made at start-up; find(): the loop's thread.
class MountTable {
 public:
  /// One prefix of the configuration, from a mount or a lane, with all that was decided for it.
  struct Route {
    std::string prefix;        // "" or "/shop": without a slash at its end
    std::string mount;         // the mount that it lies in: what SCRIPT_NAME will be
    std::uint16_t target = 0;  // which of the application's parts answers
    std::uint16_t lane = 0;    // index into lanes(); of no meaning when on_loop
    bool on_loop = false;      // answered on the loop's own thread
  };
  struct Found {
    const Route* route = nullptr;  // null: nothing is mounted there
    std::size_t mount_length = 0;  // bytes of the path, as sent, that name the mount
  };

  /// Prefixes were checked (prefix_problem), and none comes twice among mounts or among lanes.
  explicit MountTable(const Config& config);

  /// The longest prefix that ends where a segment of the path ends. `path` is as it was sent, percent-encoded.
  [[nodiscard]] Found find(std::string_view path) const;

  /// Those that a route leads to: the default one first, then one for each prefix that has its own.
  [[nodiscard]] std::span<const pool::LaneConfig> lanes() const noexcept { return lanes_; }
  /// The parts of the application whose requests can come to this lane; ascending.
  [[nodiscard]] std::vector<std::uint16_t> targets_of(std::size_t lane) const;

 private:
  /// A lane that nobody can be sent to would keep threads for nothing.
  void drop_idle_lanes();
  [[nodiscard]] const Route* match(std::string_view decoded) const noexcept;

  std::vector<Route> routes_;  // longest prefix first
  std::vector<pool::LaneConfig> lanes_;
  mutable std::string scratch_;
};

}  // namespace m0::server
