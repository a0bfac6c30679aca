#include <benchmark/benchmark.h>

#include "m0/pool/ring.hpp"

namespace m0::pool {
namespace {

void push_and_pop(benchmark::State& state) {
  static Ring<int> ring(1024);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ring.push(1));
    benchmark::DoNotOptimize(ring.pop());
  }
}
BENCHMARK(push_and_pop)->ThreadRange(1, 2)->UseRealTime();

void ask_whether_it_is_empty(benchmark::State& state) {
  const Ring<int> ring(1024);
  for (auto _ : state) benchmark::DoNotOptimize(ring.empty());
}
BENCHMARK(ask_whether_it_is_empty);

}  // namespace
}  // namespace m0::pool
