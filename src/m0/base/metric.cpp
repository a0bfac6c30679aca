#include "m0/base/metric.hpp"

#include <fmt/format.h>

#include "m0/base/check.hpp"

namespace m0::base::metric {
namespace {

Slab g_private_slab;

std::vector<Description>& descriptions() {
  static std::vector<Description> all;
  return all;
}

}  // namespace

namespace detail {

std::atomic<Slab*> g_slab{&g_private_slab};

std::size_t register_metric(std::string_view name, std::string_view help, Kind kind) {
  M0_CHECK(descriptions().size() < kCells);
  descriptions().push_back({std::string(name), std::string(help), kind});
  return descriptions().size() - 1;
}

}  // namespace detail

void use_slab(Slab& slab) noexcept { detail::g_slab.store(&slab, std::memory_order_relaxed); }

std::span<const Description> all() noexcept { return descriptions(); }

std::vector<std::string> nonzero_lines(const Slab& from) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < all().size(); ++i) {
    const std::uint64_t value = from.cells[i].load(std::memory_order_relaxed);
    if (value == 0) continue;
    if (all()[i].kind == Kind::Gauge) {
      lines.push_back(fmt::format("{} {}", all()[i].name, static_cast<std::int64_t>(value)));
    } else {
      lines.push_back(fmt::format("{} {}", all()[i].name, value));
    }
  }
  return lines;
}

}  // namespace m0::base::metric
