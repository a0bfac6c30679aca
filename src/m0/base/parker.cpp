#include "m0/base/parker.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace m0::base {
namespace {

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* until) noexcept {
  // An absolute deadline needs FUTEX_WAIT_BITSET; it is CLOCK_MONOTONIC, as steady_clock is.
  return ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

bool Parker::take_token() noexcept {
  std::uint32_t seen = word_.load(std::memory_order_acquire);
  while (seen == kToken) {
    if (word_.compare_exchange_weak(seen, kEmpty, std::memory_order_acquire)) return true;
  }
  return false;
}

void Parker::wait() noexcept {
  for (;;) {
    if (take_token()) return;
    std::uint32_t empty = kEmpty;
    if (!word_.compare_exchange_strong(empty, kWaiting, std::memory_order_acq_rel) && empty == kToken) continue;
    futex(word_, FUTEX_WAIT_BITSET, kWaiting, nullptr);
  }
}

bool Parker::wait_until(Instant deadline) noexcept {
  const std::int64_t ns = to_ns(deadline);
  timespec until{};
  until.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  until.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  for (;;) {
    if (take_token()) return true;
    std::uint32_t empty = kEmpty;
    if (!word_.compare_exchange_strong(empty, kWaiting, std::memory_order_acq_rel) && empty == kToken) continue;
    if (futex(word_, FUTEX_WAIT_BITSET, kWaiting, &until) == -1 && errno == ETIMEDOUT) {
      std::uint32_t waiting = kWaiting;
      if (word_.compare_exchange_strong(waiting, kEmpty, std::memory_order_acq_rel)) return false;
    }
  }
}

void Parker::wake() noexcept {
  if (word_.exchange(kToken, std::memory_order_acq_rel) == kWaiting) futex(word_, FUTEX_WAKE_BITSET, 1, nullptr);
}

}  // namespace m0::base
