#pragma once
// Lines on their way to the log's writer: a bounded queue of strings without a lock, so that a thread which is
// preempted in the middle of a push (an application's) delays the writer and never another producer (the loop).

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace m0::base {

/// push(): any thread. pop(): one thread at a time. All zero is the empty ring: it can live in static storage that no
/// page backs before it is used, and it works before any constructor ran.
template <std::size_t kCapacity, std::size_t kMaxBytes>
class LineRing {
  static_assert((kCapacity & (kCapacity - 1)) == 0);

 public:
  constexpr LineRing() noexcept = default;
  LineRing(const LineRing&) = delete;
  LineRing& operator=(const LineRing&) = delete;
  ~LineRing() { discard(); }

  /// False when there is no room, by lines or by bytes; the line is untouched then.
  [[nodiscard]] bool push(std::string&& line) noexcept {
    const std::size_t size = line.size();
    if (bytes_.fetch_add(size, std::memory_order_relaxed) + size > kMaxBytes) {
      bytes_.fetch_sub(size, std::memory_order_relaxed);
      return false;
    }
    std::uint64_t at = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[at % kCapacity];
      // Acquire: whoever emptied the cell is done with its string.
      const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn == empty_turn(at)) {
        if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
          ::new (static_cast<void*>(cell.storage)) std::string(std::move(line));
          // seq_cst: the writer announces its sleep and then looks here, a producer stores here and then looks for the
          // announcement; one of them sees the other.
          cell.turn.store(empty_turn(at) + 1, std::memory_order_seq_cst);
          return true;
        }
      } else if (turn < empty_turn(at)) {  // still full from the round before
        bytes_.fetch_sub(size, std::memory_order_relaxed);
        return false;
      } else {
        at = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  [[nodiscard]] std::optional<std::string> pop() noexcept {
    const std::uint64_t at = head_.load(std::memory_order_relaxed);
    Cell& cell = cells_[at % kCapacity];
    if (cell.turn.load(std::memory_order_seq_cst) != empty_turn(at) + 1) return std::nullopt;
    std::optional<std::string> line(std::move(*cell.get()));
    cell.get()->~basic_string();
    head_.store(at + 1, std::memory_order_relaxed);
    bytes_.fetch_sub(line->size(), std::memory_order_relaxed);
    cell.turn.store(empty_turn(at) + 2, std::memory_order_release);
    return line;
  }

  /// Whether a pop would find nothing at this moment.
  [[nodiscard]] bool empty() const noexcept {
    const std::uint64_t at = head_.load(std::memory_order_relaxed);
    return cells_[at % kCapacity].turn.load(std::memory_order_seq_cst) != empty_turn(at) + 1;
  }

  /// How many lines were ever pushed: lets a producer notice every so-and-so-many-th.
  [[nodiscard]] std::uint64_t pushed() const noexcept { return tail_.load(std::memory_order_relaxed); }

  /// Empties it in a child after a fork. Its lines are leaked and not looked at: a thread that the child does not have
  /// may have been in the middle of any of them. No other thread may exist.
  void restart_in_child() noexcept {
    if (tail_.load(std::memory_order_relaxed) != 0) {
      for (Cell& cell : cells_) cell.turn.store(0, std::memory_order_relaxed);
    }
    tail_.store(0, std::memory_order_relaxed);
    head_.store(0, std::memory_order_relaxed);
    bytes_.store(0, std::memory_order_relaxed);
  }

 private:
  struct Cell {
    // Counts the cell's changes: even is empty, odd is full.
    std::atomic<std::uint64_t> turn{0};
    alignas(std::string) unsigned char storage[sizeof(std::string)] = {};
    std::string* get() noexcept { return std::launder(reinterpret_cast<std::string*>(storage)); }
  };

  static constexpr std::uint64_t empty_turn(std::uint64_t at) noexcept { return at / kCapacity * 2; }

  void discard() noexcept {
    while (pop()) {
    }
  }

  std::array<Cell, kCapacity> cells_{};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::atomic<std::size_t> bytes_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
};

}  // namespace m0::base
