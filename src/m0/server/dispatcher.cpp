#include "m0/server/dispatcher.hpp"

#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/handler/problem.hpp"

namespace m0::server {
namespace {

const base::metric::Counter g_queue_full("m0_queue_full_total",
                                         "Requests answered 503 because the lane's queue was full");
const base::metric::Counter g_nobody("m0_not_mounted_total", "Requests for a path where nothing is mounted");

// A lane that stays full says so once in this time.
constexpr base::Duration kReportEvery = std::chrono::seconds(10);

}  // namespace

Dispatcher::Dispatcher(const MountTable& mounts, pool::OffloadPool<handler::Exchange>& pool)
    : mounts_(mounts), pool_(pool), next_report_(mounts.lanes().size()) {}

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
  if (pool_.submit(route.lane, exchange)) return Submitted::Queued;
  exchange.withdraw();
  g_queue_full.add();
  report_full(route.lane, now);
  return Submitted::Full;
}

void Dispatcher::report_full(std::size_t lane, base::Instant now) {
  if (now < next_report_[lane]) return;
  next_report_[lane] = now + kReportEvery;
  const pool::LaneConfig& config = mounts_.lanes()[lane];
  base::log::warning("lane {} is full: {} requests wait for its {} threads, more are answered 503", config.name,
                     config.queue, pool_.lane(lane).live());
}

}  // namespace m0::server
