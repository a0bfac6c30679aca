#include "m0/process/control_socket.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "m0/base/fd.hpp"
#include "m0/base/logger.hpp"
#include "m0/pubsub/event.hpp"

namespace m0::process {
namespace {

// Of connections that wait for one of the server's places; each of them waits with a bound of its own.
constexpr int kBacklog = 128;
constexpr const char* kVariable = "M0_CONTROL";

std::string reason(int error) { return std::generic_category().message(error); }

std::expected<gid_t, std::string> group_id(const std::string& name) {
  errno = 0;
  const group* const found = ::getgrnam(name.c_str());
  if (found != nullptr) return found->gr_gid;
  return std::unexpected(fmt::format("--control-group: there is no group '{}' on this machine", name));
}

std::expected<ControlSocket, std::string> open_at(const std::string& path, std::optional<gid_t> group) {
  const auto address = net::parse_bind_address("unix:" + path);
  if (!address) return std::unexpected(address.error());
  auto opened = net::open_listeners({&*address, 1}, {.backlog = kBacklog, .unix_mode = group ? 0660U : 0600U});
  if (!opened) return std::unexpected(opened.error());
  if (group && ::lchown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) {
    return std::unexpected(
        fmt::format("{} cannot be given to the group ({}): this user has to be in it", path, reason(errno)));
  }
  return ControlSocket{std::move(opened->front()), {::geteuid(), group}};
}

/// M0_CONTROL also reaches a server that a view of another server started, and names that other one.
bool somebody_listens(const std::string& path) {
  const auto address = net::parse_bind_address("unix:" + path);
  if (!address) return false;
  const auto at = net::resolve(*address);
  const base::Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return at && probe && (::connect(probe.get(), at->front().get(), at->front().size) == 0 || errno == EAGAIN);
}

std::optional<ControlSocket> open_by_default(const net::BindAddress& first, std::span<const ControlPlace> places) {
  const uid_t uid = ::geteuid();
  std::string reasons;
  for (const ControlPlace& place : places) {
    std::string problem = prepare_place(place, uid);
    if (problem.empty()) {
      auto opened = open_at(place.directory + "/" + control_name(first), std::nullopt);
      if (opened) return std::move(*opened);
      problem = opened.error();
    } else {
      problem = fmt::format("{} {}", place.directory, problem);
    }
    reasons += (reasons.empty() ? "" : "; ") + problem;
  }
  base::log::warning("the control socket is off, nothing can be published from outside: {} (--control names a place)",
                     reasons);
  return std::nullopt;
}

}  // namespace

bool ControlAccess::allows(uid_t uid, std::span<const gid_t> groups) const noexcept {
  if (uid == owner || uid == 0) return true;
  return group && std::ranges::find(groups, *group) != groups.end();
}

bool ControlAccess::allows_peer(int socket) const {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  std::vector<gid_t> groups(64);
  for (;;) {
    size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    const int got = ::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
    const bool too_small = got != 0 && errno == ERANGE;
    groups.resize(got == 0 || too_small ? size / sizeof(gid_t) : 0);
    if (!too_small) break;
  }
  groups.push_back(peer.gid);
  return allows(peer.uid, groups);
}

std::string control_name(const net::BindAddress& first) {
  if (!first.is_unix()) return fmt::format("{}-{}.sock", first.host, first.port);
  const std::string path = std::filesystem::absolute(first.path).lexically_normal().string();
  return fmt::format("unix-{:016x}.sock", pubsub::hash_channel(path));
}

std::vector<ControlPlace> control_places() { return control_places(::getenv("XDG_RUNTIME_DIR"), ::geteuid()); }

std::vector<ControlPlace> control_places(const char* runtime, uid_t uid) {
  std::vector<ControlPlace> places;
  // The specification of base directories: a relative path is to be ignored.
  if (runtime != nullptr && *runtime == '/') places.push_back({std::string(runtime) + "/m0serve", true});
  places.push_back({fmt::format("/run/user/{}/m0serve", uid), true});
  if (uid == 0) places.push_back({"/run/m0serve", true});
  places.push_back({fmt::format("/tmp/m0serve-{}", uid), false});
  return places;
}

std::string prepare_place(const ControlPlace& place, uid_t uid) {
  struct stat what{};
  if (place.in_our_own) {
    const std::string above = place.directory.substr(0, place.directory.rfind('/') + 1);
    if (::stat(above.c_str(), &what) != 0) return fmt::format("cannot be made ({})", reason(errno));
    // After su or sudo XDG_RUNTIME_DIR may be that of somebody else, who would not be rid of our directory.
    if (what.st_uid != uid) return "lies in a directory of another user";
  }
  if (::mkdir(place.directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return fmt::format("cannot be made ({})", reason(errno));
  }
  // In /tmp anybody may have made it before us.
  if (::lstat(place.directory.c_str(), &what) != 0) return fmt::format("cannot be used ({})", reason(errno));
  if (!S_ISDIR(what.st_mode)) return "is no directory";
  if (what.st_uid != uid) return "belongs to another user";
  if ((what.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "can be written by others";
  return "";
}

std::expected<std::optional<ControlSocket>, std::string> open_control(const Config& config,
                                                                      const net::BindAddress& first,
                                                                      std::span<const ControlPlace> places) {
  if (config.control && config.control->empty()) return std::nullopt;
  std::optional<std::string> path = config.control;
  if (path && config.control_inherited && somebody_listens(*path)) path.reset();
  if (!path) {
    if (config.control_group.empty()) return open_by_default(first, places);
    return std::unexpected(
        "--control-group needs a --control PATH in a directory that the group may enter: the default one is closed");
  }
  std::optional<gid_t> group;
  if (!config.control_group.empty()) {
    const auto found = group_id(config.control_group);
    if (!found) return std::unexpected(found.error());
    group = *found;
  }
  // What children are told has to hold in any directory.
  auto opened = open_at(std::filesystem::absolute(*path).string(), group);
  if (!opened) return std::unexpected("--control: " + opened.error());
  return std::move(*opened);
}

void tell_children(const std::optional<ControlSocket>& control) {
  ::setenv(kVariable, control ? control->listener.address().path.c_str() : "off", 1);
}

}  // namespace m0::process
