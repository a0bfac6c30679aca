#include <benchmark/benchmark.h>

#include <string>

#include "m0/http/head_buffer.hpp"
#include "m0/http/head_parser.hpp"
#include "m0/http/scan.hpp"

namespace {

using namespace m0::http;

const std::string kTool = "GET /hello HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n\r\n";

const std::string kBrowser =
    "GET /account/orders?page=2&sort=date HTTP/1.1\r\n"
    "Host: shop.example.org\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
    "Accept-Language: en-US,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Connection: keep-alive\r\n"
    "Referer: https://shop.example.org/account/orders?page=1\r\n"
    "Cookie: sessionid=4hq1m9c2ll0x8xq1rj5k0zv2y8b7n3da; csrftoken=Zr8LrIqT5mYb0nQ6W2uX7cVd9EoKsJgA\r\n"
    "Sec-Fetch-Dest: document\r\n"
    "Sec-Fetch-Mode: navigate\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Priority: u=0, i\r\n\r\n";

void parse(benchmark::State& state, const std::string& bytes) {
  const Limits limits;
  RequestHead head;
  for (auto _ : state) {
    HeadParser parser(HeadParser::Section::Request);
    benchmark::DoNotOptimize(parser.parse(limits, bytes, head));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK_CAPTURE(parse, tool, kTool);
BENCHMARK_CAPTURE(parse, browser, kBrowser);

// A slow client's head: the work per byte must not grow with the size of the head.
void byte_by_byte(benchmark::State& state) {
  std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n";
  while (bytes.size() < static_cast<std::size_t>(state.range(0)))
    bytes += "X-Field: " + std::string(1000, 'v') + "\r\n";
  bytes += "\r\n";
  const Limits limits;
  for (auto _ : state) {
    HeadParser parser(HeadParser::Section::Request);
    HeadBuffer buffer(parser, {}, {});
    for (const char& c : bytes) benchmark::DoNotOptimize(buffer.feed(limits, {&c, 1}));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(byte_by_byte)->Arg(1000)->Arg(60000);

void scan(benchmark::State& state, const char* (*scanner)(const char*, const char*) noexcept) {
  const std::string text(static_cast<std::size_t>(state.range(0)), 'v');
  for (auto _ : state) benchmark::DoNotOptimize(scanner(text.data(), text.data() + text.size()));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(scan, value, scan_value)->Arg(20)->Arg(100);
BENCHMARK_CAPTURE(scan, value_scalar, scan_value_scalar)->Arg(20)->Arg(100);

}  // namespace
