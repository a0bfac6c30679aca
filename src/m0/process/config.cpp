#include "m0/process/config.hpp"

#include "m0/net/bind_address.hpp"
#include "m0/server/mount_table.hpp"

namespace m0::process {
namespace {

// What presence() of all workers is answered in: each answer waits there for a millisecond or so.
constexpr std::size_t kAnswers = std::size_t{1} << 20U;

}  // namespace

pubsub::LogConfig log_config(const Config& config) noexcept {
  return {.size = config.event_log_size, .max_event = config.max_event, .bells = config.workers, .answers = kAnswers};
}

bool multithread(const Config& config) {
  // Two lanes of one thread each are two threads.
  unsigned threads = 0;
  const server::MountTable table(config.server);
  for (const pool::LaneConfig& lane : table.lanes()) threads += lane.max_threads;
  return threads > 1;
}

std::string bind_problem(std::string_view text) {
  const auto address = net::parse_bind_address(text);
  return address ? "" : address.error();
}

}  // namespace m0::process
