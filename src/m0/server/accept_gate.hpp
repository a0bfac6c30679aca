#pragma once
// How workers that share a listener share its clients: each takes one only while it has about as few as the others.

#include <atomic>
#include <cstdint>
#include <span>

#include "m0/base/clock.hpp"

namespace m0::server {

/// One worker's line in memory that all of them share. Written by its own worker, read by the others.
struct WorkerLoad {
  std::atomic<std::uint32_t> connections{0};
  std::atomic<bool> accepting{false};
};

/// The loop's thread.
class AcceptGate {
 public:
  /// A client that nobody takes for this long is taken whatever the counts say: the others are stuck.
  static constexpr base::Duration kPatience = std::chrono::milliseconds(50);
  /// When to look again after the gate said no.
  static constexpr base::Duration kRetry = std::chrono::milliseconds(1);

  AcceptGate(std::span<WorkerLoad> all, unsigned self) noexcept : all_(all), self_(self) {}

  /// Whether this worker may take one more client now.
  [[nodiscard]] bool may_accept(base::Instant now) noexcept {
    if (within_share()) {
      refused_since_ = base::Instant::max();
      return true;
    }
    if (refused_since_ == base::Instant::max()) refused_since_ = now;
    if (now - refused_since_ < kPatience) return false;
    refused_since_ = base::Instant::max();
    return true;
  }
  /// No client waits any more: patience starts anew with the next one.
  void nobody_waits() noexcept { refused_since_ = base::Instant::max(); }

 private:
  /// No more than the least of the accepting peers, plus one eighth.
  [[nodiscard]] bool within_share() const noexcept {
    const std::uint32_t own = all_[self_].connections.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (i == self_ || !all_[i].accepting.load(std::memory_order_relaxed)) continue;
      const std::uint32_t peer = all_[i].connections.load(std::memory_order_relaxed);
      if (own > peer + peer / 8) return false;
    }
    return true;
  }

  std::span<WorkerLoad> all_;
  unsigned self_;
  base::Instant refused_since_ = base::Instant::max();
};

}  // namespace m0::server
