#include "m0/process/event_log_thread.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "m0/base/logger.hpp"

namespace m0::process {
namespace {

using pubsub::EventLogWriter;

// How far behind: what is published in this time goes out in one write.
constexpr base::Duration kBehind = std::chrono::milliseconds(20);
constexpr base::Duration kLongestNap = std::chrono::milliseconds(250);
// Who does not write looks this often whether the one that does is gone.
constexpr base::Duration kLook = std::chrono::milliseconds(500);
constexpr base::Duration kReportEvery = std::chrono::seconds(10);

}  // namespace

void report_restored(const pubsub::EventLogFile& file) {
  const pubsub::Restored& restored = file.restored();
  if (!restored.warning.empty()) base::log::error("{}", restored.warning);
  if (restored.clean) {
    base::log::info("the event log goes on with {} events of {}", restored.events, file.path());
  } else if (restored.existed) {
    base::log::warning(
        "the event log begins anew with the {} events that are left in {}: the server was not stopped, and "
        "what was published last may be lost; clients that come back are told",
        restored.events, file.path());
  }
}

EventLogThread::EventLogThread(std::string path, pubsub::EventLog& log) : writer_(path, log), path_(std::move(path)) {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "m0-event-log");
    run();
  });
}

EventLogThread::~EventLogThread() {
  stop_.store(true, std::memory_order_release);
  parker_.wake();
  thread_.join();
}

void EventLogThread::run() {
  base::Duration nap = kBehind;
  for (;;) {
    const bool last = stop_.load(std::memory_order_acquire);
    const EventLogWriter::Step said = writer_.step();
    if (said == EventLogWriter::Step::Failed) report_failure();
    if (last) return;  // what is left the supervisor writes
    if (said == EventLogWriter::Step::More) continue;
    // While nothing is published it looks ever more seldom.
    const bool wrote = said == EventLogWriter::Step::Idle && writer_.wrote();
    nap = wrote ? kBehind : std::min(nap * 2, said == EventLogWriter::Step::NotOurs ? kLook : kLongestNap);
    static_cast<void>(parker_.wait_until(base::now() + nap));
  }
}

void EventLogThread::report_failure() {
  const base::Instant now = base::now();
  if (now < next_report_) return;
  next_report_ = now + kReportEvery;
  base::log::error(
      "the event log's file {} cannot be written ({}): it is tried again; what leaves the log before is lost "
      "to who comes back after a restart",
      path_, writer_.failure());
}

}  // namespace m0::process
