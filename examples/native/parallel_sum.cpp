// Work that one request has for all processors: oneTBB's task_group splits it, and m0serve needs to know nothing of it.
// The pool's thread waits for its tasks as it would for a database.
//
//   parallel_sum --bind 127.0.0.1:8000
//   curl 'http://127.0.0.1:8000/?n=40000000&tasks=1'
//   curl 'http://127.0.0.1:8000/?n=40000000&tasks=2'

#include <m0/m0.hpp>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace {

/// Something that keeps a processor busy and has one right answer.
std::uint64_t mixed(std::uint64_t from, std::uint64_t to) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = from; i < to; ++i) {
    std::uint64_t x = i * 0x9E3779B97F4A7C15U;
    x ^= x >> 29U;
    x *= 0xBF58476D1CE4E5B9U;
    sum += x ^ (x >> 32U);
  }
  return sum;
}

std::uint64_t number(const std::optional<std::string>& text, std::uint64_t otherwise, std::uint64_t most) {
  std::uint64_t value = otherwise;
  if (text) std::from_chars(text->data(), text->data() + text->size(), value);
  return std::clamp<std::uint64_t>(value, 1, most);
}

class ParallelSum {
 public:
  static ParallelSum make(const m0::ThreadContext&) { return {}; }
  void shutdown() {}

  m0::Response handle(const m0::Request& request) {
    const std::uint64_t count = number(request.query_value("n"), 10'000'000, 1'000'000'000);
    const std::uint64_t tasks = number(request.query_value("tasks"), 1, 64);
    const auto began = std::chrono::steady_clock::now();
    std::vector<std::uint64_t> parts(tasks);
    oneapi::tbb::task_group group;
    for (std::uint64_t i = 0; i < tasks; ++i) {
      group.run([&parts, i, count, tasks] { parts[i] = mixed(count * i / tasks, count * (i + 1) / tasks); });
    }
    group.wait();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    std::uint64_t sum = 0;
    for (const std::uint64_t part : parts) sum += part;
    return m0::Response::json("{\"sum\":" + std::to_string(sum) + ",\"milliseconds\":" + std::to_string(took.count()) +
                              "}");
  }
};

}  // namespace

int main(int argc, char** argv) { return m0::serve<ParallelSum>(argc, argv); }
