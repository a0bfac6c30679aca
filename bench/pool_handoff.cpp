// What handing a request over to the pool costs, as a ratio to doing the same work in place: pinned to one core and on
// two, a turn's batch at a time and woken for one by one. CPU time of the whole process counts, not the clock, so that
// a thread that helps on another core is no gain.

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "m0/base/clock.hpp"
#include "m0/base/waker.hpp"
#include "m0/pool/offload_pool.hpp"

namespace {

using namespace m0;

constexpr int kRounds = 5;
constexpr unsigned kJobs = 40'000;  // a round
constexpr unsigned kBatch = 64;     // what a turn of the loop reads with 64 connections
constexpr unsigned kCold = 2'000;   // before the first round counts

/// What a small request is worth, some five microseconds of parsing, calling and framing.
constexpr int kSpins = 20'000;

void work() {
  for (int i = 0; i < kSpins; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

struct Job : pool::CompletionNode {
  bool finish() noexcept { return true; }
  bool notify() noexcept { return true; }
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& at) {
    return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Puts this thread, and those it starts from now on, on the first `cores` of what was usable at the start.
bool pin(const cpu_set_t& usable, unsigned cores) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (int cpu = 0; cpu < CPU_SETSIZE && cores > 0; ++cpu) {
    if (!CPU_ISSET(cpu, &usable)) continue;
    CPU_SET(cpu, &wanted);
    --cores;
  }
  return cores == 0 && sched_setaffinity(0, sizeof wanted, &wanted) == 0;
}

/// A pool with the calling thread as its loop.
class Handoff {
 public:
  Handoff() : pool_(waker_, 0), jobs_(kBatch) {
    pool::LaneConfig lane;
    lane.threads = lane.max_threads = 4;
    pool_.add_lane(lane, [](pool::PoolThread<Job>& thread) {
      thread.ready();
      while (Job* job = thread.take()) {
        do {
          work();
          thread.complete(*job);
        } while ((job = thread.take_now()) != nullptr);
      }
    });
    failure_ = pool_.start();
  }
  ~Handoff() {
    pool_.stop();
    if (!pool_.join_until(base::now() + std::chrono::seconds(20))) std::fputs("the pool did not stop\n", stderr);
  }
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

  void run(unsigned jobs, unsigned batch) {
    for (unsigned done = 0; done < jobs; done += batch) {
      for (unsigned i = 0; i < batch; ++i) static_cast<void>(pool_.submit(0, jobs_[i]));
      pool_.hand_over();
      for (unsigned back = 0; back < batch;) {
        // The loop's turn without its sockets: look after the lane, announce, look again, sleep.
        const base::Instant look = pool_.tend(base::now());
        waker_.announce_sleep(look);
        if (pool_.nothing_came_back()) {
          pollfd entry{waker_.fd(), POLLIN, 0};
          ::poll(&entry, 1, 1);
        }
        waker_.awake();
        waker_.drain();
        pool_.drain([&back](Job&) { ++back; });
      }
    }
  }

 private:
  base::Waker waker_;
  pool::OffloadPool<Job> pool_;
  std::vector<Job> jobs_;
  std::string failure_;
};

/// CPU microseconds a job: the median of the rounds.
double measured(const std::function<void(unsigned jobs)>& run) {
  run(kCold);
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    const double before = cpu_seconds();
    run(kJobs);
    rounds.push_back((cpu_seconds() - before) * 1e6 / kJobs);
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

}  // namespace

int main() {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  std::string rows;
  for (const unsigned cores : {1U, 2U}) {
    if (!pin(usable, cores)) {
      std::fputs(fmt::format("{} cores: not on this machine\n", cores).c_str(), stderr);
      continue;
    }
    const double in_place = measured([](unsigned jobs) {
      for (unsigned i = 0; i < jobs; ++i) work();
    });
    double batch = 0;
    double single = 0;
    {
      Handoff handoff;
      if (!handoff.failure().empty()) {
        std::fputs((handoff.failure() + "\n").c_str(), stderr);
        return 1;
      }
      batch = measured([&](unsigned jobs) { handoff.run(jobs, kBatch); });
      single = measured([&](unsigned jobs) { handoff.run(jobs, 1); });
    }
    rows += fmt::format(
        "{}{{\"cores\": {}, \"in_place_us\": {:.3f}, \"batch_us\": {:.3f}, \"single_us\": {:.3f}, "
        "\"batch_ratio\": {:.3f}, \"single_ratio\": {:.3f}}}",
        rows.empty() ? "" : ",\n  ", cores, in_place, batch, single, batch / in_place, single / in_place);
  }
  std::fputs(fmt::format("{{\"jobs\": {}, \"batch\": {}, \"rounds\": {}, \"cpu_us_a_job\": [\n  {}\n]}}\n", kJobs,
                         kBatch, kRounds, rows)
                 .c_str(),
             stdout);
  return 0;
}
