#pragma once
// Which descriptors are ours, so that a process which the application forks (multiprocessing, os.fork) keeps no client
// and no listener open. Any thread.

namespace m0::base::fd_registry {

/// Remembers or forgets a descriptor. Descriptors above the table's end (1,048,576) are not tracked.
void add(int fd) noexcept;
void remove(int fd) noexcept;

/// Installs the fork hooks (once a process tree). In a child of a fork that is not ours every registered descriptor is
/// closed, our signal handlers are reset to the default, the mask is cleared, and in_forked_child() turns true.
void install_fork_hooks();

/// Brackets a fork of our own (a worker): the child keeps everything. On the forking thread only.
class IntendedFork {
 public:
  IntendedFork() noexcept;
  ~IntendedFork();
  IntendedFork(const IntendedFork&) = delete;
  IntendedFork& operator=(const IntendedFork&) = delete;
};

/// True between the two ends of an IntendedFork on this thread, in parent and child.
[[nodiscard]] bool fork_is_intended() noexcept;

/// True in a process that the application forked from one of ours: it must leave by _exit and touch nothing of ours.
[[nodiscard]] bool in_forked_child() noexcept;

/// True once the application has forked this process (workers of ours do not count). From then on a socket is shut down
/// before it is closed, because a child may hold a copy for a moment longer.
[[nodiscard]] bool has_forked() noexcept;

/// Names a signal whose handler is ours and is reset to the default in a forked child.
void add_signal(int signal) noexcept;

}  // namespace m0::base::fd_registry
