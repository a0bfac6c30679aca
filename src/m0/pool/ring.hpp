#pragma once
// A bounded queue for many producers and many consumers with one sequence word a cell and no lock (the design is
// Dmitry Vyukov's bounded MPMC queue).

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

namespace m0::pool {

/// Any thread for everything. Values are handed over by copy: small and trivially copyable.
template <class T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Room for at least `capacity` values: the next power of two, at least 2.
  explicit Ring(std::size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? std::size_t{2} : capacity) - 1), cells_(new Cell[mask_ + 1]) {
    for (std::size_t i = 0; i <= mask_; ++i) cells_[i].sequence.store(i, std::memory_order_relaxed);
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }

  /// False when it is full.
  [[nodiscard]] bool push(T value) noexcept {
    std::size_t at = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[at & mask_];
      // Acquire: the consumer that freed the cell has finished reading its value.
      const std::size_t sequence = cell.sequence.load(std::memory_order_acquire);
      const auto distance = static_cast<std::ptrdiff_t>(sequence) - static_cast<std::ptrdiff_t>(at);
      if (distance == 0) {
        if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) {
          cell.value = value;
          // seq_cst, not release: a parking thread announces itself and then looks here, and a pusher looks for parked
          // threads after this store. One total order over both makes one of them see the other.
          cell.sequence.store(at + 1, std::memory_order_seq_cst);
          return true;
        }
      } else if (distance < 0) {
        return false;
      } else {
        at = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  [[nodiscard]] std::optional<T> pop() noexcept {
    std::size_t at = head_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[at & mask_];
      const std::size_t sequence = cell.sequence.load(std::memory_order_seq_cst);
      const auto distance = static_cast<std::ptrdiff_t>(sequence) - static_cast<std::ptrdiff_t>(at + 1);
      if (distance == 0) {
        if (head_.compare_exchange_weak(at, at + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) {
          const T value = cell.value;
          // Release: the producer that takes this cell next must see that the value was read.
          cell.sequence.store(at + mask_ + 1, std::memory_order_release);
          return value;
        }
      } else if (distance < 0) {
        return std::nullopt;
      } else {
        at = head_.load(std::memory_order_relaxed);
      }
    }
  }

  /// Whether a pop would have found nothing, at some moment during the call.
  [[nodiscard]] bool empty() const noexcept {
    std::size_t at = head_.load(std::memory_order_seq_cst);
    for (;;) {
      if (cells_[at & mask_].sequence.load(std::memory_order_seq_cst) == at + 1) return false;
      // Nothing to be had at `at` also when another consumer just took it: then the next cell decides. Who parks, and
      // who goes on watching a lane, relies on this answer.
      const std::size_t head = head_.load(std::memory_order_seq_cst);
      if (head == at) return true;
      at = head;
    }
  }

  /// How many are queued; exact for the only producer, at the moment when the call begins.
  [[nodiscard]] std::size_t size() const noexcept {
    const std::size_t head = head_.load(std::memory_order_seq_cst);
    const std::size_t tail = tail_.load(std::memory_order_seq_cst);
    return tail > head ? tail - head : 0;
  }

 private:
  struct Cell {
    std::atomic<std::size_t> sequence;
    T value;
  };

  const std::size_t mask_;
  const std::unique_ptr<Cell[]> cells_;
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::atomic<std::size_t> head_{0};
};

}  // namespace m0::pool
