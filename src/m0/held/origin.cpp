#include "m0/held/origin.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "m0/base/bytes.hpp"

namespace m0::held {
namespace {

using handler::PeerAddress;

/// 127.0.0.0/8, ::1, the same mapped into IPv6, or a Unix socket.
bool is_this_machine(const PeerAddress& peer) noexcept {
  constexpr std::array<std::uint8_t, 16> kLoopback6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  switch (peer.family) {
    case PeerAddress::Family::None: return true;
    case PeerAddress::Family::V4: return peer.bytes[0] == 127;
    case PeerAddress::Family::V6:
      return peer.bytes == kLoopback6 ||
             (std::equal(kMapped.begin(), kMapped.end(), peer.bytes.begin()) && peer.bytes[12] == 127);
  }
  return false;
}

/// The last element of a list: what the proxy next to us has said.
std::string_view last_element(std::string_view list) noexcept {
  const std::size_t comma = list.rfind(',');
  return base::trim_ows(comma == std::string_view::npos ? list : list.substr(comma + 1));
}

struct SchemeAndAuthority {
  std::string_view scheme;
  std::string_view authority;
};

/// Without the port that the scheme has anyway.
std::string_view without_default_port(const SchemeAndAuthority& origin) noexcept {
  const std::string_view port = base::iequals(origin.scheme, "https") ? ":443" : ":80";
  std::string_view authority = origin.authority;
  if (authority.ends_with(port)) authority.remove_suffix(port.size());
  return authority;
}

bool same(const SchemeAndAuthority& a, const SchemeAndAuthority& b) noexcept {
  return base::iequals(a.scheme, b.scheme) && base::iequals(without_default_port(a), without_default_port(b));
}

/// Empty parts for what is no origin ("null" among them).
SchemeAndAuthority split(std::string_view origin) noexcept {
  const std::size_t colon = origin.find("://");
  if (colon == std::string_view::npos) return {};
  return {origin.substr(0, colon), origin.substr(colon + 3)};
}

SchemeAndAuthority own_origin(const handler::Exchange& exchange) noexcept {
  SchemeAndAuthority own{"http", exchange.request.authority};
  if (!is_this_machine(exchange.peer)) return own;
  if (const auto proto = last_element(exchange.request.find("X-Forwarded-Proto")); !proto.empty()) own.scheme = proto;
  if (const auto host = last_element(exchange.request.find("X-Forwarded-Host")); !host.empty()) own.authority = host;
  // As some proxies say it of a WebSocket.
  if (base::iequals(own.scheme, "wss")) own.scheme = "https";
  if (base::iequals(own.scheme, "ws")) own.scheme = "http";
  return own;
}

}  // namespace

std::string_view origin_problem(std::string_view origin) noexcept {
  if (origin == "*") return {};
  const SchemeAndAuthority parts = split(origin);
  if (parts.scheme.empty() || parts.authority.empty() || parts.authority.find('/') != std::string_view::npos) {
    return "must be scheme://host or scheme://host:port without a path, as https://example.com, or *";
  }
  return {};
}

bool origin_passes(const handler::Exchange& request, std::span<const std::string> allowed) {
  const std::string_view said = request.request.find("Origin");
  if (said.data() == nullptr) return true;
  const SchemeAndAuthority origin = split(said);
  if (!origin.authority.empty() && same(origin, own_origin(request))) return true;
  return std::ranges::any_of(allowed, [&](std::string_view each) {
    return each == "*" || (!origin.authority.empty() && same(origin, split(each)));
  });
}

}  // namespace m0::held
