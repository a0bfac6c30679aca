#pragma once
// The thread of a worker that writes the event log's file behind, while no other worker does.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "m0/base/clock.hpp"
#include "m0/base/parker.hpp"
#include "m0/pubsub/event_log_file.hpp"

namespace m0::process {

/// How long a start waits for workers of a server that was killed.
inline constexpr base::Duration kForPredecessors = std::chrono::seconds(3);

/// Says in the log what a start has found in the file.
void report_restored(const pubsub::EventLogFile& file);

/// Owned by the worker's main thread. Ends with what was published before its destructor on the disk, as far as that
/// takes it.
class EventLogThread {
 public:
  EventLogThread(std::string path, pubsub::EventLog& log);
  ~EventLogThread();
  EventLogThread(const EventLogThread&) = delete;
  EventLogThread& operator=(const EventLogThread&) = delete;

 private:
  void run();
  void report_failure();

  pubsub::EventLogWriter writer_;
  const std::string path_;
  base::Instant next_report_{};
  std::atomic<bool> stop_{false};
  base::Parker parker_;
  std::thread thread_;
};

}  // namespace m0::process
