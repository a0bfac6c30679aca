#include "m0/net/listener.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "m0/net/socket.hpp"

namespace m0::net {
namespace {

using namespace std::chrono_literals;

std::string reason(int error) { return std::generic_category().message(error); }

std::string tcp_sentence(const std::string& where, std::uint16_t port, int error) {
  switch (error) {
    case EADDRINUSE: return fmt::format("{} is in use by another program: stop it, or choose another --bind", where);
    case EACCES:
    case EPERM:
      if (port < 1024) {
        return fmt::format("no permission to listen on {}: choose a port from 1024 up, or give CAP_NET_BIND_SERVICE",
                           where);
      }
      return fmt::format("no permission to listen on {}: a security policy forbids it", where);
    case EADDRNOTAVAIL: return fmt::format("cannot listen on {}: no interface of this machine has that address", where);
    case EAFNOSUPPORT:
      return fmt::format("cannot listen on {}: this machine has no such protocol (is IPv6 switched off?)", where);
    case EMFILE:
    case ENFILE: return fmt::format("cannot listen on {}: no file descriptor is left (see ulimit -n)", where);
    default: return fmt::format("cannot listen on {}: {}", where, reason(error));
  }
}

std::string unix_sentence(const std::string& where, int error) {
  switch (error) {
    case EADDRINUSE: return fmt::format("{} was taken by another program at this moment: start again", where);
    case ENOENT: return fmt::format("cannot listen on {}: its directory does not exist", where);
    case ENOTDIR: return fmt::format("cannot listen on {}: a part of its path is not a directory", where);
    case EACCES:
    case EPERM: return fmt::format("no permission to make {}: choose a directory that this user may write", where);
    case EROFS: return fmt::format("cannot make {}: its file system is read-only", where);
    default: return fmt::format("cannot listen on {}: {}", where, reason(error));
  }
}

/// Two servers that start at once on one path must not each take the other's socket for a stale one. Without the lock
/// (a directory that cannot be read) there is only that risk.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    directory_ = base::Fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory_) return;
    for (int i = 0; i < 50 && ::flock(directory_.get(), LOCK_EX | LOCK_NB) != 0; ++i) std::this_thread::sleep_for(20ms);
  }

 private:
  base::Fd directory_;  // closing it gives the lock back
};

/// Makes way for a new socket at `path`: nothing there, or a socket that nobody listens to. Otherwise a sentence.
std::string clear_path(const BindAddress& address, const SocketAddress& at) {
  const std::string where = address.text();
  struct stat what{};
  if (::lstat(address.path.c_str(), &what) != 0) {
    return errno == ENOENT ? "" : unix_sentence(where, errno);
  }
  if (!S_ISSOCK(what.st_mode)) {
    return fmt::format("{} exists and is not a socket: remove it yourself, or choose another path", where);
  }
  const base::Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return unix_sentence(where, errno);
  const int error = ::connect(probe.get(), at.get(), at.size) == 0 ? 0 : errno;
  switch (error) {
    case ECONNREFUSED:
      if (::unlink(address.path.c_str()) != 0 && errno != ENOENT) return unix_sentence(where, errno);
      return "";
    case ENOENT:  // gone meanwhile
      return "";
    case EACCES:
    case EPERM: return fmt::format("{} is a socket of another user: remove it, or choose another path", where);
    default:  // 0, EAGAIN (its backlog is full), EPROTOTYPE (another kind of socket): somebody is there
      return fmt::format("{} is in use by a running server: stop it, or choose another path", where);
  }
}

}  // namespace

/// Opens listeners one by one; what was opened before an error is closed with the list.
class ListenerOpener {
 public:
  ListenerOpener(std::span<const BindAddress> addresses, const ListenOptions& options)
      : addresses_(addresses), options_(options) {}

  std::expected<std::vector<Listener>, std::string> open_all() {
    for (const BindAddress& address : addresses_) {
      if (address.port != 0 || address.is_unix()) {
        if (std::ranges::count(addresses_, address) > 1) {
          return std::unexpected(fmt::format("{} is named twice: keep one --bind of it", address.text()));
        }
      }
      if (std::string sentence = open(address); !sentence.empty()) return std::unexpected(std::move(sentence));
    }
    return std::move(opened_);
  }

 private:
  std::string open(const BindAddress& address) {
    const auto found = resolve(address);
    if (!found) return found.error();
    if (address.is_unix()) return open_unix(address, found->front());

    const std::size_t before = opened_.size();
    std::uint16_t port = address.port;
    std::string sentence;
    for (SocketAddress at : *found) {
      at.set_port(port);
      int error = open_tcp(at);
      if (error == EAFNOSUPPORT && address.host.empty()) error = open_every_ipv4(port);
      if (error == 0) {
        port = opened_.back().address().port;  // further addresses of one name share the port that 0 became
        continue;
      }
      sentence = tcp_sentence(address.text(), port, error);
      // A name may have addresses that this machine lacks (localhost as ::1 without IPv6); one that works is enough.
      if (error != EADDRNOTAVAIL && error != EAFNOSUPPORT) return sentence;
    }
    return opened_.size() > before ? "" : sentence;
  }

  int open_every_ipv4(std::uint16_t port) {
    SocketAddress any;
    any.storage.ss_family = AF_INET;
    any.size = sizeof(sockaddr_in);
    any.set_port(port);
    return open_tcp(any);
  }

  /// [::] takes IPv4 clients too, unless another --bind wants those of this port for itself.
  [[nodiscard]] bool ipv4_is_taken(std::uint16_t port) const {
    return std::ranges::any_of(addresses_, [&](const BindAddress& other) {
      in_addr parsed{};
      return other.port == port && port != 0 && ::inet_pton(AF_INET, other.host.c_str(), &parsed) == 1;
    });
  }

  int open_tcp(const SocketAddress& at) {
    base::Fd socket(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return errno;
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Accepted sockets inherit it, which saves each of them a system call.
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (at.family() == AF_INET6) {
      const int only_v6 = at.is_any() && !ipv4_is_taken(at.port()) ? 0 : 1;
      if (::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6) != 0) return errno;
    }
    if (::bind(socket.get(), at.get(), at.size) != 0) return errno;
    if (::listen(socket.get(), options_.backlog) != 0) return errno;

    SocketAddress bound;
    bound.size = sizeof bound.storage;
    if (::getsockname(socket.get(), bound.get(), &bound.size) != 0) return errno;
    Listener listener;
    listener.address_.host = address_text(to_peer_name(bound.storage));
    listener.address_.port = bound.port();
    listener.socket_ = std::move(socket);
    opened_.push_back(std::move(listener));
    return 0;
  }

  std::string open_unix(const BindAddress& address, const SocketAddress& at) {
    const DirectoryLock lock(address.path);
    if (std::string sentence = clear_path(address, at); !sentence.empty()) return sentence;

    base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return unix_sentence(address.text(), errno);
    // bind() makes the file with 0777 less the umask: nobody can come in before a chmod because there is none.
    const mode_t mask = ::umask(0777U & ~options_.unix_mode);
    const int error = ::bind(socket.get(), at.get(), at.size) == 0 ? 0 : errno;
    ::umask(mask);
    if (error != 0) return unix_sentence(address.text(), error);

    Listener listener;
    listener.socket_ = std::move(socket);
    listener.address_ = address;
    struct stat made{};
    if (::lstat(address.path.c_str(), &made) == 0) {
      listener.owner_ = ::getpid();
      listener.file_ = std::filesystem::absolute(address.path).string();
      listener.device_ = made.st_dev;
      listener.inode_ = made.st_ino;
    }
    if (::listen(listener.fd(), options_.backlog) != 0) return unix_sentence(address.text(), errno);
    opened_.push_back(std::move(listener));
    return "";
  }

  std::span<const BindAddress> addresses_;
  const ListenOptions& options_;
  std::vector<Listener> opened_;
};

Listener::Listener(Listener&& other) noexcept
    : socket_(std::move(other.socket_)),
      address_(std::move(other.address_)),
      owner_(std::exchange(other.owner_, 0)),
      file_(std::move(other.file_)),
      device_(other.device_),
      inode_(other.inode_) {}

Listener& Listener::operator=(Listener&& other) noexcept {
  if (this != &other) {
    close();
    socket_ = std::move(other.socket_);
    address_ = std::move(other.address_);
    owner_ = std::exchange(other.owner_, 0);
    file_ = std::move(other.file_);
    device_ = other.device_;
    inode_ = other.inode_;
  }
  return *this;
}

std::string Listener::url() const { return address_.is_unix() ? address_.text() : "http://" + address_.text(); }

void Listener::close() noexcept {
  const bool ours = owner_ != 0 && owner_ == ::getpid();
  owner_ = 0;
  if (ours) {
    struct stat there{};
    if (::lstat(file_.c_str(), &there) == 0 && there.st_dev == device_ && there.st_ino == inode_) {
      ::unlink(file_.c_str());
    }
  }
  socket_.reset();
}

std::expected<std::vector<Listener>, std::string> open_listeners(std::span<const BindAddress> addresses,
                                                                 const ListenOptions& options) {
  return ListenerOpener(addresses, options).open_all();
}

}  // namespace m0::net
