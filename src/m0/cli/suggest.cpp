#include "m0/cli/suggest.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace m0::cli {
namespace {

/// What people type who come from other servers.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kElsewhere{{
    {"threads", "blocking-threads"},
    {"processes", "workers"},
    {"worker-connections", "max-connections"},
    {"keep-alive", "idle-timeout"},
    {"timeout-keep-alive", "idle-timeout"},
    {"timeout", "graceful-timeout"},
    {"chdir", "app-dir"},
    {"pythonpath", "app-dir"},
    {"listen", "backlog"},
    {"access-logfile", "access-log"},
    {"loglevel", "log-level"},
    {"limit-request-line", "max-line"},
    {"limit-request-fields", "max-fields"},
    {"http-socket", "bind"},
}};

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: the swap looks two rows back.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string suggest(std::string_view name, std::span<const std::string_view> known) {
  const auto is_known = [&](std::string_view word) { return std::ranges::find(known, word) != known.end(); };
  for (const auto& [theirs, ours] : kElsewhere) {
    if (name == theirs && is_known(ours)) return std::string(ours);
  }
  std::string_view best;
  // A third of the letters may be wrong, and at least two.
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view word : known) {
    const std::size_t distance = edit_distance(name, word);
    if (distance < best_distance) {
      best_distance = distance;
      best = word;
    }
  }
  if (!best.empty() && best_distance < name.size()) return std::string(best);
  std::string_view begun;
  for (const std::string_view word : known) {
    if (name.size() < 3 || !word.starts_with(name)) continue;
    if (!begun.empty()) return "";  // several begin like that
    begun = word;
  }
  return std::string(begun);
}

}  // namespace m0::cli
