#pragma once
// Counters and gauges: declared where they count, kept in a slab that processes can share, merged by whoever reads.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace m0::base::metric {

/// Cells of one process. Fixed, so that a supervisor and its workers agree on the layout without talking.
inline constexpr std::size_t kCells = 512;
struct Slab {
  std::atomic<std::uint64_t> cells[kCells];
};

enum class Kind : std::uint8_t { Counter, Gauge };
struct Description {
  std::string name;  // as exposed, e.g. "m0_http_bad_requests_total"
  std::string help;
  Kind kind;
};

/// The slab this process counts in; a private one until a worker is given its place in shared memory. Counts made
/// before the change stay behind.
void use_slab(Slab& slab) noexcept;
[[nodiscard]] Slab& slab() noexcept;
/// Every metric that exists, in the order of its cell.
[[nodiscard]] std::span<const Description> all() noexcept;

namespace detail {
/// Gives the next free cell; aborts when there is none. Static initialisation only.
std::size_t register_metric(std::string_view name, std::string_view help, Kind kind);
extern std::atomic<Slab*> g_slab;
}  // namespace detail

/// Only grows. Any thread. Define at namespace scope beside what it counts.
class Counter {
 public:
  Counter(std::string_view name, std::string_view help) : cell_(detail::register_metric(name, help, Kind::Counter)) {}
  void add(std::uint64_t n = 1) const noexcept { slab().cells[cell_].fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept { return slab().cells[cell_].load(std::memory_order_relaxed); }

 private:
  std::size_t cell_;
};

/// Goes up and down. Any thread.
class Gauge {
 public:
  Gauge(std::string_view name, std::string_view help) : cell_(detail::register_metric(name, help, Kind::Gauge)) {}
  void set(std::int64_t v) const noexcept {
    slab().cells[cell_].store(static_cast<std::uint64_t>(v), std::memory_order_relaxed);
  }
  void add(std::int64_t n) const noexcept {
    slab().cells[cell_].fetch_add(static_cast<std::uint64_t>(n), std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t value() const noexcept {
    return static_cast<std::int64_t>(slab().cells[cell_].load(std::memory_order_relaxed));
  }

 private:
  std::size_t cell_;
};

/// "name value" lines of all that is not zero, for the log of a stopping worker at level debug.
[[nodiscard]] std::vector<std::string> nonzero_lines(const Slab& from);

inline Slab& slab() noexcept { return *detail::g_slab.load(std::memory_order_relaxed); }

}  // namespace m0::base::metric
