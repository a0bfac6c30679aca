#include "client_loop.hpp"

#include <sys/epoll.h>
#include <sys/prctl.h>

#include <array>

namespace m0::bench {
namespace {

// For whoever has no instant to wait for; it turns again.
constexpr base::Duration kLongestSleep = std::chrono::seconds(1);

}  // namespace

ClientLoop::ClientLoop(std::uint16_t port, bool keep)
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), port_(port), keep_(keep) {}

std::size_t ClientLoop::add(std::string_view path) {
  connections_.emplace_back(port_, path, keep_);
  return connections_.size() - 1;
}

void ClientLoop::turn(base::Instant until, const Ended& ended) {
  const base::Instant now = base::now();
  const base::Duration wait = until <= now                    ? base::Duration::zero()
                              : until == base::Instant::max() ? kLongestSleep
                                                              : until - now;
  const timespec timeout{wait / std::chrono::seconds(1), (wait % std::chrono::seconds(1)).count()};
  std::array<epoll_event, 64> events;
  const int count = ::epoll_pwait2(epoll_.get(), events.data(), events.size(), &timeout, nullptr);
  for (int i = 0; i < count; ++i) {
    const std::size_t index = events[static_cast<std::size_t>(i)].data.u64;
    const ClientConnection::Outcome outcome = connections_[index].receive();
    if (outcome != ClientConnection::Outcome::Waiting) ended(index, outcome == ClientConnection::Outcome::Answered);
  }
}

void wake_punctually() { ::prctl(PR_SET_TIMERSLACK, 1UL); }

}  // namespace m0::bench
