#include "m0/server/dispatcher.hpp"

#include <algorithm>
#include <chrono>

#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/handler/problem.hpp"

namespace m0::server {
namespace {

const base::metric::Counter g_queue_full("m0_queue_full_total",
                                         "Requests answered 503 because the lane's queue was full");
const base::metric::Counter g_stuck("m0_stuck_lanes_total",
                                    "Times that a lane was told to have had no free thread for seconds");
const base::metric::Counter g_nobody("m0_not_mounted_total", "Requests for a path where nothing is mounted");

// A lane that stays full, or stuck, says so once in this time.
constexpr base::Duration kReportEvery = std::chrono::seconds(10);
// Threads that take no request for so long while some wait are stuck.
constexpr base::Duration kStuckAfter = std::chrono::seconds(2);

}  // namespace

Dispatcher::Dispatcher(const MountTable& mounts, pool::OffloadPool<handler::Exchange>& pool)
    : mounts_(mounts), pool_(pool), watches_(mounts.lanes().size()) {}

Submitted Dispatcher::submit(handler::Exchange& exchange, base::Instant now) {
  const MountTable::Found found = mounts_.find(exchange.request.path);
  if (found.route == nullptr) {
    g_nobody.add();
    handler::make_problem(404, "", exchange.response);
    exchange.answered_by = handler::AnsweredBy::Loop;
    return Submitted::Answered;
  }
  const MountTable::Route& route = *found.route;
  exchange.target = route.target;
  exchange.mount_length = static_cast<std::uint32_t>(found.mount_length);
  if (route.on_loop) {
    exchange.began = now;
    exchange.answered_by = handler::AnsweredBy::Loop;
    loop_body_->answer(exchange);
    return Submitted::Answered;
  }
  const pool::LaneConfig& lane = mounts_.lanes()[route.lane];
  exchange.queue_deadline =
      lane.queue_timeout > base::Duration::zero() ? now + lane.queue_timeout : base::Instant::max();
  exchange.submit();
  if (pool_.submit(route.lane, exchange)) {
    ++watches_[route.lane].submitted;
    return Submitted::Queued;
  }
  exchange.withdraw();
  g_queue_full.add();
  report_full(route.lane, now);
  return Submitted::Full;
}

bool Dispatcher::has_room_for_message(std::string_view path) const {
  const MountTable::Route* const route = mounts_.find(path).route;
  if (route == nullptr || route->on_loop) return true;
  return pool_.lane(route->lane).waiting() < (mounts_.lanes()[route->lane].queue + 1) / 2;
}

void Dispatcher::report_full(std::size_t lane, base::Instant now) {
  Watch& watch = watches_[lane];
  if (now < watch.next_full) return;
  watch.next_full = now + kReportEvery;
  const pool::LaneConfig& config = mounts_.lanes()[lane];
  base::log::warning("lane {} is full: {} requests wait for its {} threads, more are answered 503", config.name,
                     config.queue, pool_.lane(lane).live());
}

void Dispatcher::look_for_stuck_lanes(base::Instant now) {
  for (std::size_t lane = 0; lane < watches_.size(); ++lane) {
    Watch& watch = watches_[lane];
    const std::size_t waiting = pool_.lane(lane).waiting();
    const std::uint64_t taken = watch.submitted - std::min<std::uint64_t>(watch.submitted, waiting);
    if (waiting == 0 || taken != watch.taken) {
      watch.taken = taken;
      watch.stuck_since = now;
      continue;
    }
    if (now - watch.stuck_since < kStuckAfter || now < watch.next_stuck) continue;
    watch.next_stuck = now + kReportEvery;
    g_stuck.add();
    base::log::warning(
        "lane {}: {} requests wait, and none of its {} threads has come free for {} s: they are all inside a handler, "
        "or "
        "wait for clients that read slowly",
        mounts_.lanes()[lane].name, waiting, pool_.lane(lane).live(),
        std::chrono::duration_cast<std::chrono::seconds>(now - watch.stuck_since).count());
  }
}

}  // namespace m0::server
