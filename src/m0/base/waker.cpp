#include "m0/base/waker.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace m0::base {

Waker::Waker() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void Waker::drain() noexcept {
  std::uint64_t count = 0;
  // EAGAIN: somebody announced and nobody wrote; nothing to empty.
  [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
}

bool Waker::wake_sleeper() noexcept {
  if (!asleep_.exchange(false, std::memory_order_seq_cst)) return false;
  const std::uint64_t one = 1;
  // EAGAIN would mean 2^64-1 unread wakes: the sleeper is readable all the same.
  [[maybe_unused]] const auto put = ::write(event_.get(), &one, sizeof one);
  return true;
}

}  // namespace m0::base
