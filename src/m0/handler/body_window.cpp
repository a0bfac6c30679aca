#include "m0/handler/body_window.hpp"

#include <algorithm>
#include <cstring>

namespace m0::handler {

std::size_t BodyWindow::try_write(std::string_view bytes) noexcept {
  if (closed()) return 0;
  const std::uint64_t at = written_.load(std::memory_order_relaxed);
  const std::size_t take = std::min(bytes.size(), kCapacity - used());
  const std::size_t offset = at % kCapacity;
  const std::size_t first = std::min(take, kCapacity - offset);
  std::memcpy(ring_.get() + offset, bytes.data(), first);
  std::memcpy(ring_.get(), bytes.data() + first, take - first);
  written_.store(at + take, std::memory_order_seq_cst);
  return take;
}

void BodyWindow::wait_for_room() noexcept {
  while (!closed() && used() > kCapacity / 2) {
    // Announce, look again, wait: the consumer looks at the announcement after it gave room back.
    producer_waits_.store(true, std::memory_order_seq_cst);
    if (closed_.load(std::memory_order_seq_cst) || used() <= kCapacity / 2) {
      producer_waits_.store(false, std::memory_order_relaxed);
      return;
    }
    parker_.wait();
  }
}

std::string_view BodyWindow::readable() const noexcept {
  const std::size_t offset = read_.load(std::memory_order_relaxed) % kCapacity;
  return {ring_.get() + offset, std::min(used(), kCapacity - offset)};
}

void BodyWindow::consume(std::size_t n) noexcept {
  read_.store(read_.load(std::memory_order_relaxed) + n, std::memory_order_seq_cst);
  if (used() <= kCapacity / 2 && producer_waits_.exchange(false, std::memory_order_seq_cst)) parker_.wake();
}

void BodyWindow::close() noexcept {
  closed_.store(true, std::memory_order_seq_cst);
  if (producer_waits_.exchange(false, std::memory_order_seq_cst)) parker_.wake();
}

}  // namespace m0::handler
