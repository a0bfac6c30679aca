#pragma once
// Sockets that listen: opened once, before any worker exists, and shared by all of them.

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "m0/base/fd.hpp"
#include "m0/net/bind_address.hpp"

namespace m0::net {

struct ListenOptions {
  int backlog = 2048;
  mode_t unix_mode = 0666;  // of a Unix socket's file; its directory decides who reaches it
};

/// One thread at a time. Closing it removes the file of a Unix socket, if this process made the file and it is still
/// the same; a copy that a worker inherited removes nothing.
class Listener {
 public:
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { close(); }

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  /// Where it listens: the port is the real one, also where 0 was asked for.
  [[nodiscard]] const BindAddress& address() const noexcept { return address_; }
  /// "http://127.0.0.1:8000", "http://[::]:8000", "unix:/run/app.sock".
  [[nodiscard]] std::string url() const;

  void close() noexcept;

 private:
  friend class ListenerOpener;
  Listener() noexcept = default;

  base::Fd socket_;
  BindAddress address_;
  // The file this process made.
  pid_t owner_ = 0;
  std::string file_;  // absolute: an application may change the directory
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// Opens them all or none. A name with several addresses gives a listener for each. The error is one sentence, for exit
/// code 78. While no other thread runs: the umask is changed for a moment.
[[nodiscard]] std::expected<std::vector<Listener>, std::string> open_listeners(std::span<const BindAddress> addresses,
                                                                               const ListenOptions& options);

}  // namespace m0::net
