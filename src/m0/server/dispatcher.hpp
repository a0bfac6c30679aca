#pragma once
// From a complete request to whoever answers it: a lane of the pool, the loop itself, or nobody.

#include <string>
#include <vector>

#include "m0/handler/application.hpp"
#include "m0/pool/offload_pool.hpp"
#include "m0/server/loop_shared.hpp"
#include "m0/server/mount_table.hpp"

namespace m0::server {

/// The loop's thread.
class Dispatcher {
 public:
  /// The pool has a lane for each of the table's, in their order.
  Dispatcher(const MountTable& mounts, pool::OffloadPool<handler::Exchange>& pool);

  /// Who answers what is mounted on the loop; outlives the last request.
  void use_loop_body(handler::LoopBody* body) noexcept { loop_body_ = body; }

  [[nodiscard]] Submitted submit(handler::Exchange& exchange, base::Instant now);
  /// Whether what a held client says may go to this path's lane: messages leave half of a queue to those who wait for
  /// an answer.
  [[nodiscard]] bool has_room_for_message(std::string_view path) const;

  /// About once a second: tells of a lane whose requests wait while no thread comes free.
  void look_for_stuck_lanes(base::Instant now);

 private:
  /// What was told of a lane, and what is watched to tell more.
  struct Watch {
    std::uint64_t submitted = 0;
    std::uint64_t taken = 0;  // by a thread, when it was looked at last
    base::Instant stuck_since{};
    base::Instant next_full{};  // reports at the earliest
    base::Instant next_stuck{};
  };
  void report_full(std::size_t lane, base::Instant now);

  const MountTable& mounts_;
  pool::OffloadPool<handler::Exchange>& pool_;
  handler::LoopBody* loop_body_ = nullptr;
  std::vector<Watch> watches_;  // of each lane
};

}  // namespace m0::server
