// What a hand-over costs: jobs done in place, handed over a batch at a time, and woken for one by one.
#include <benchmark/benchmark.h>
#include <poll.h>

#include <atomic>
#include <vector>

#include "m0/pool/offload_pool.hpp"

namespace m0::pool {
namespace {

/// About a microsecond of CPU time.
void work() {
  for (int i = 0; i < 1'500; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

struct Job : CompletionNode {
  bool finish() noexcept { return true; }
  bool notify() noexcept { return true; }
};

void in_place(benchmark::State& state) {
  for (auto _ : state) work();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(in_place)->UseRealTime();

/// `range(0)` jobs a turn; the loop sleeps until they are back, as it does when it has nothing else to do.
void handed_over(benchmark::State& state) {
  base::Waker waker;
  OffloadPool<Job> pool(waker, 0);
  pool.add_lane({}, [](PoolThread<Job>& thread) {
    thread.ready();
    while (Job* job = thread.take()) {
      do {
        work();
        thread.complete(*job);
      } while ((job = thread.take_now()) != nullptr);
    }
  });
  if (!pool.start().empty()) state.SkipWithError("the pool did not start");
  std::vector<Job> jobs(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    for (Job& job : jobs) {
      if (!pool.submit(0, job)) state.SkipWithError("the lane was full");
    }
    pool.hand_over();
    for (std::size_t back = 0; back < jobs.size();) {
      static_cast<void>(pool.tend(base::now()));
      waker.announce_sleep();
      if (pool.nothing_came_back()) {
        pollfd entry{waker.fd(), POLLIN, 0};
        ::poll(&entry, 1, 1);
      }
      waker.awake();
      waker.drain();
      pool.drain([&](Job&) { ++back; });
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  pool.stop();
  if (!pool.join_until(base::now() + std::chrono::seconds(20))) state.SkipWithError("the pool did not stop");
}
BENCHMARK(handed_over)->Arg(1)->Arg(16)->Arg(64)->Arg(256)->UseRealTime();

}  // namespace
}  // namespace m0::pool
