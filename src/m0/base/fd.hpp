#pragma once
// A descriptor that belongs to this process alone: closed once, known to fd_registry while it lives.

#include <unistd.h>

#include <utility>

#include "m0/base/fd_registry.hpp"

namespace m0::base {

/// Owns one descriptor. One thread at a time; may be moved between threads.
class Fd {
 public:
  Fd() noexcept = default;
  explicit Fd(int fd) noexcept : fd_(fd) {
    if (fd_ >= 0) fd_registry::add(fd_);
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }

  void reset() noexcept {
    if (fd_ < 0) return;
    fd_registry::remove(fd_);
    ::close(std::exchange(fd_, -1));
  }

  /// Gives the descriptor away; the registry forgets it.
  [[nodiscard]] int release() noexcept {
    if (fd_ >= 0) fd_registry::remove(fd_);
    return std::exchange(fd_, -1);
  }

 private:
  int fd_ = -1;
};

}  // namespace m0::base
