#pragma once
// The 64 KiB through which an answer of unknown length runs from its pool thread to the loop.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "m0/base/parker.hpp"

namespace m0::handler {

/// One producer (the pool thread), one consumer (the loop).
class BodyWindow {
 public:
  static constexpr std::size_t kCapacity = 64 * 1024;

  BodyWindow() : ring_(new char[kCapacity]) {}

  /// Producer: copies what fits and returns how much. Never waits. 0 with closed() means the client is gone.
  [[nodiscard]] std::size_t try_write(std::string_view bytes) noexcept;
  /// Producer: waits until the window is at most half full or closed. Not while holding an interpreter lock.
  void wait_for_room() noexcept;

  /// Consumer: the longest contiguous run of bytes to send; empty when there is none.
  [[nodiscard]] std::string_view readable() const noexcept;
  /// Consumer: gives back the room of n bytes and wakes the producer when the window falls to half.
  void consume(std::size_t n) noexcept;

  /// Consumer: nobody reads any more; a producer that waits comes back.
  void close() noexcept;
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

 private:
  [[nodiscard]] std::size_t used() const noexcept {
    return static_cast<std::size_t>(written_.load(std::memory_order_seq_cst) - read_.load(std::memory_order_seq_cst));
  }

  std::unique_ptr<char[]> ring_;
  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> read_{0};
  std::atomic<bool> producer_waits_{false};
  std::atomic<bool> closed_{false};
  base::Parker parker_;
};

}  // namespace m0::handler
