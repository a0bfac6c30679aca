#pragma once
// Where the control socket lies, and who may use it.

#include <sys/types.h>

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "m0/net/bind_address.hpp"
#include "m0/net/listener.hpp"
#include "m0/process/config.hpp"

namespace m0::process {

/// Beside the file's mode, which somebody may have changed, or which root's programs pass by.
struct ControlAccess {
  uid_t owner = 0;
  std::optional<gid_t> group;

  /// `groups`: all that the peer is in.
  [[nodiscard]] bool allows(uid_t uid, std::span<const gid_t> groups) const noexcept;
  /// Who is at the other end of this connection, asked of the kernel.
  [[nodiscard]] bool allows_peer(int socket) const;
};

struct ControlSocket {
  net::Listener listener;
  ControlAccess access;
};

struct ControlPlace {
  std::string directory;
  bool in_our_own = false;  // what it lies in has to be ours too, or it is another user's place
};
/// In order of preference; of the effective user.
[[nodiscard]] std::vector<ControlPlace> control_places();

/// Opens it as `config` says, for a server whose first address is `first`; nothing: it is off. Without a --control a
/// server that finds no place runs without one, and says so in a line of the log. The error is one sentence. At start,
/// while no other thread runs.
[[nodiscard]] std::expected<std::optional<ControlSocket>, std::string> open_control(
    const Config& config, const net::BindAddress& first, std::span<const ControlPlace> places = control_places());

/// M0_CONTROL, for all that this process starts: the path, or "off".
void tell_children(const std::optional<ControlSocket>& control);

// ---- for open_control(), and its tests

/// The file's name: "127.0.0.1-8000.sock"; of a Unix socket a hash of its absolute path.
[[nodiscard]] std::string control_name(const net::BindAddress& first);

/// `runtime`: XDG_RUNTIME_DIR, or nullptr.
[[nodiscard]] std::vector<ControlPlace> control_places(const char* runtime, uid_t uid);
/// Makes the directory if it is missing. Why it cannot be used, for the end of a sentence; or nothing.
[[nodiscard]] std::string prepare_place(const ControlPlace& place, uid_t uid);

}  // namespace m0::process
