// Asks a server's fast route while others keep its slow route, which blocks, busy without a pause: one cell of the
// table that bench/probe prints, as a line of JSON.
//
// Three geometries:
//   first   one client without think time, 300 requests: the one the published figures were measured in
//   closed  8 clients on kept connections, 5 ms think time, for a time
//   open    arrivals at a fixed rate, for a time. They wait for nobody, and latency counts from when a request was
//   meant
//           to be sent: a server that stands still is charged for everybody who would have come meanwhile
//
// A cell of the first geometry in which every request waits for seconds (300 of them behind 6 blockers on one thread
// are ten minutes) ends at --seconds, as soon as --at-least were answered; the count that is printed is what was
// measured. 100 give a p99 that is not their maximum; for a p50 20 are enough where all wait for about the same.

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pool_cell.hpp"

namespace m0::bench {
namespace {

using base::Duration;

struct Options {
  CellPlan cell;
  std::string geometry;
  std::optional<std::uint64_t> requests, at_least;
  std::optional<double> seconds;
  double block_ms = 400;
  double rate = 250;
  double think_ms = 5;
  unsigned clients = 8;
  bool fresh = false;
};

Duration milliseconds(double ms) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(ms));
}

CellPlan plan(const Options& options) {
  CellPlan cell = options.cell;
  cell.keep = !options.fresh;
  cell.block = milliseconds(options.block_ms);
  double seconds = 4;
  if (options.geometry == "first") {
    cell.requests = 300;
    cell.at_least = 100;
    seconds = 20;
  } else if (options.geometry == "closed") {
    cell.clients = options.clients;
    cell.think = milliseconds(options.think_ms);
  } else {
    cell.interval = milliseconds(1000 / options.rate);
  }
  cell.requests = options.requests.value_or(cell.requests);
  cell.at_least = options.at_least.value_or(cell.at_least);
  cell.limit = milliseconds(1000 * options.seconds.value_or(seconds));
  return cell;
}

void print(const Options& options, CellResult& result) {
  fmt::print(
      "{{\"blockers\": {}, \"p50_ms\": {:.4f}, \"p99_ms\": {:.4f}, \"max_ms\": {:.4f}, \"count\": {}, \"errors\": {}, "
      "\"unanswered\": {}, \"slow\": {}, \"slow_errors\": {}, \"slow_per_s\": {:.3f}, \"seconds\": {:.3f}}}\n",
      options.cell.blockers, result.fast.percentile_ms(0.5), result.fast.percentile_ms(0.99),
      result.fast.percentile_ms(1), result.fast.count(), result.fast_errors, result.unanswered, result.slow_answered,
      result.slow_errors, result.slow_per_second(), std::chrono::duration<double>(result.window).count());
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures a server's fast route while its slow one is kept busy.");
  app.add_option("--port", options.cell.port)->required();
  app.add_option("--geometry", options.geometry)->required()->check(CLI::IsMember({"first", "closed", "open"}));
  app.add_option("--blockers", options.cell.blockers, "Clients that keep the slow route busy");
  app.add_option("--slow", options.cell.slow, "The route that blocks");
  app.add_option("--fast", options.cell.fast, "The route that is measured");
  app.add_option("--block-ms", options.block_ms, "What the slow route takes")->check(CLI::PositiveNumber);
  app.add_option("--requests", options.requests, "End after this many (first: 300; else: no such bound)");
  app.add_option("--seconds", options.seconds, "End after this time (first: 20; else: 4)")->check(CLI::PositiveNumber);
  app.add_option("--at-least", options.at_least, "But not before this many were answered (first: 100; else: 0)");
  app.add_option("--clients", options.clients, "closed: this many")->check(CLI::PositiveNumber);
  app.add_option("--think-ms", options.think_ms, "closed: between an answer and the next question");
  app.add_option("--rate", options.rate, "open: arrivals a second")->check(CLI::PositiveNumber);
  app.add_flag("--fresh", options.fresh, "A new connection for every request");
  CLI11_PARSE(app, argc, argv);

  wake_punctually();
  auto result = PoolCell(plan(options)).run();
  if (!result) {
    fmt::print(stderr, "pool_probe: {}\n", result.error());
    return 1;
  }
  print(options, *result);
  return 0;
}

}  // namespace
}  // namespace m0::bench

int main(int argc, char** argv) { return m0::bench::run(argc, argv); }
