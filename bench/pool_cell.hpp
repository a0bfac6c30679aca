#pragma once
// One cell of the pool probe's table: what the fast route of a server does while some clients keep its slow route,
// which blocks, busy without a pause.

#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "m0/base/clock.hpp"

#include "client_loop.hpp"
#include "latencies.hpp"
#include "pace.hpp"

namespace m0::bench {

/// Who asks, and when that ends.
struct CellPlan {
  std::uint16_t port = 0;
  bool keep = true;  // whether connections are kept
  std::string slow = "/slow";
  std::string fast = "/fast";
  base::Duration block = std::chrono::milliseconds(400);  // what the slow route takes
  unsigned blockers = 0;

  // A closed loop: each client waits for its answer, thinks, and asks again.
  unsigned clients = 1;
  base::Duration think{};
  // Or an open loop, where an interval is given: arrivals that wait for nobody, this far apart in the mean.
  base::Duration interval{};

  // The end: after this many requests (0: no such bound), or at the limit if `at_least` were answered by then. Where
  // every request waits for seconds the limit is what ends the cell, and the count says so; `at_least` keeps enough of
  // them for the percentile that is asked of the cell.
  std::uint64_t requests = 0;
  std::uint64_t at_least = 0;
  base::Duration limit = std::chrono::seconds(4);
};

struct CellResult {
  Latencies fast;
  std::uint64_t fast_errors = 0;  // refused or cut
  std::uint64_t unanswered = 0;   // in the end; they are among `fast` with the time waited so far
  std::uint64_t slow_errors = 0;
  std::uint64_t slow_answered = 0;  // within the window
  base::Duration window{};          // from the first fast question to the last fast answer

  [[nodiscard]] double slow_per_second() const;
};

/// Measures one cell. One thread.
class PoolCell {
 public:
  explicit PoolCell(const CellPlan& plan);

  /// The error says in one sentence why there is nothing to be told.
  [[nodiscard]] std::expected<CellResult, std::string> run();

 private:
  [[nodiscard]] bool occupy();
  void start_asking();
  void ask_until_the_end();
  void count_unanswered();
  void turn(base::Instant until);

  [[nodiscard]] base::Instant next_question() const;
  void ask_what_is_due();
  void ask_fast(std::size_t index, base::Instant from);
  void fast_is_free(std::size_t index);
  void ask_slow(std::size_t index);
  void take_end(std::size_t index, bool answered);

  [[nodiscard]] bool is_blocker(std::size_t index) const { return index < plan_.blockers; }
  [[nodiscard]] bool open() const { return plan_.interval > base::Duration::zero(); }
  [[nodiscard]] bool all_asked() const { return plan_.requests > 0 && asked_ >= plan_.requests; }
  [[nodiscard]] bool blockers_wait() const;
  [[nodiscard]] bool failing() const;

  const CellPlan plan_;
  ClientLoop loop_;                                // the blockers first, then the fast clients
  std::vector<base::Instant> from_;                // by index: when its question counts from
  std::multimap<base::Instant, std::size_t> due_;  // closed loop: who asks when
  std::deque<std::size_t> idle_;                   // open loop: connections that are free
  std::deque<base::Instant> waiting_;              // open loop: arrivals without a connection
  std::optional<Pace> pace_;                       // open loop
  CellResult result_;
  std::uint64_t asked_ = 0;
  std::size_t in_flight_ = 0;  // fast questions
  bool asking_ = false;        // the fast clients still ask
  bool blocking_ = true;       // the blockers still ask
};

}  // namespace m0::bench
