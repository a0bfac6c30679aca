#include "m0/server/mount_table.hpp"

#include <algorithm>

#include "m0/http/percent.hpp"

namespace m0::server {
namespace {

/// Whether `path` is `prefix` or lies below it. Only at the end of a segment: /shop does not cover /shopping.
bool covers(std::string_view prefix, std::string_view path) noexcept {
  return path.starts_with(prefix) && (path.size() == prefix.size() || prefix.empty() || path[prefix.size()] == '/');
}

/// The element with the longest prefix that covers `path`; null where none does.
template <class Element>
const Element* longest(const std::vector<Element>& elements, std::string_view path) {
  const Element* best = nullptr;
  for (const Element& element : elements) {
    if (covers(element.prefix, path) && (best == nullptr || element.prefix.size() > best->prefix.size())) {
      best = &element;
    }
  }
  return best;
}

struct OwnLane {
  std::string prefix;
  std::uint16_t lane;
};

}  // namespace

MountTable::MountTable(const Config& config) {
  lanes_.push_back(config.lane);
  std::vector<OwnLane> own;
  std::vector<std::string> prefixes;
  const auto add_lane = [&](const std::string& prefix, const pool::LaneConfig& lane) {
    own.push_back({prefix, static_cast<std::uint16_t>(lanes_.size())});
    lanes_.push_back(lane);
  };
  for (const LaneRule& rule : config.lanes) {
    add_lane(rule.prefix, rule.lane);
    prefixes.push_back(rule.prefix);
  }
  for (const Mount& mount : config.mounts) {
    // What the operator says about a prefix counts more than what the program brought.
    const bool ruled = std::ranges::find(own, mount.prefix, &OwnLane::prefix) != own.end();
    if (mount.lane && !mount.on_loop && !ruled) add_lane(mount.prefix, *mount.lane);
    if (std::ranges::find(prefixes, mount.prefix) == prefixes.end()) prefixes.push_back(mount.prefix);
  }
  for (const std::string& prefix : prefixes) {
    const Mount* const mount = longest(config.mounts, prefix);
    if (mount == nullptr) continue;  // a lane for what nobody answers
    const OwnLane* const lane = longest(own, prefix);
    // A lane further up does not reach into a mount that brought a lane of its own, which is longer and found first.
    routes_.push_back(
        {prefix, mount->prefix, mount->target, lane == nullptr ? std::uint16_t{0} : lane->lane, mount->on_loop});
  }
  std::ranges::sort(routes_, std::greater<>(), [](const Route& route) { return route.prefix.size(); });
  drop_idle_lanes();
}

void MountTable::drop_idle_lanes() {
  for (std::size_t lane = lanes_.size(); lane-- > 0;) {
    if (!targets_of(lane).empty()) continue;
    lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(lane));
    for (Route& route : routes_) {
      if (route.lane > lane) --route.lane;
    }
  }
}

const MountTable::Route* MountTable::match(std::string_view decoded) const noexcept {
  for (const Route& route : routes_) {
    if (covers(route.prefix, decoded)) return &route;
  }
  return nullptr;
}

MountTable::Found MountTable::find(std::string_view path) const {
  if (routes_.size() == 1 && routes_.front().prefix.empty()) return {&routes_.front(), 0};
  // "*" names the server itself (RFC 9112 3.2.4): whoever has the root answers.
  if (path == "*") path = {};
  const bool encoded = path.find('%') != std::string_view::npos;
  if (encoded) http::percent_decode(path, scratch_);
  const Route* const route = match(encoded ? std::string_view(scratch_) : path);
  if (route == nullptr) return {};
  const std::size_t length = route->mount.size();
  return {route, encoded ? http::encoded_length(path, length) : length};
}

std::vector<std::uint16_t> MountTable::targets_of(std::size_t lane) const {
  std::vector<std::uint16_t> targets;
  for (const Route& route : routes_) {
    if (!route.on_loop && route.lane == lane) targets.push_back(route.target);
  }
  std::ranges::sort(targets);
  const auto repeated = std::ranges::unique(targets);
  targets.erase(repeated.begin(), repeated.end());
  return targets;
}

}  // namespace m0::server
