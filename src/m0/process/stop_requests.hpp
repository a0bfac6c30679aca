#pragma once
// What stop signals mean, one after the other.

#include <chrono>
#include <cstdint>

#include "m0/base/clock.hpp"

namespace m0::process {

/// One thread.
class StopRequests {
 public:
  enum class Wish : std::uint8_t { Nothing, Graceful, AtOnce };

  /// Signals that follow the first one so soon are the same wish: `timeout`, and whoever signals a whole process group,
  /// send two for one. A person's second Ctrl-C takes longer.
  static constexpr base::Duration kSameWish = std::chrono::milliseconds(100);

  [[nodiscard]] Wish signals_came(unsigned count, base::Instant now) noexcept {
    if (count == 0) return Wish::Nothing;
    if (!stopping_) {
      stopping_ = true;
      first_ = now;
      return Wish::Graceful;
    }
    return now - first_ < kSameWish ? Wish::Nothing : Wish::AtOnce;
  }
  [[nodiscard]] bool stopping() const noexcept { return stopping_; }

 private:
  bool stopping_ = false;
  base::Instant first_{};
};

}  // namespace m0::process
