#include <benchmark/benchmark.h>

#include "m0/server/access_log.hpp"

namespace m0::server {
namespace {

void format_line(benchmark::State& state, AccessLogFormat format) {
  AccessLogFormatter formatter(format);
  AccessLogEntry entry;
  entry.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'789));
  entry.peer = "192.0.2.7";
  entry.method = "GET";
  entry.target = "/some/ordinary/path?with=a&query=string";
  entry.status = 200;
  entry.body_bytes = 2326;
  entry.referer = "https://example.test/some/page";
  entry.user_agent = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
  entry.duration = std::chrono::microseconds(1234);
  for (auto _ : state) benchmark::DoNotOptimize(formatter.line(entry));
}
BENCHMARK_CAPTURE(format_line, combined, AccessLogFormat::Combined);
BENCHMARK_CAPTURE(format_line, json, AccessLogFormat::Json);

}  // namespace
}  // namespace m0::server
