#include "m0/process/signals.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "m0/base/fd_registry.hpp"

namespace m0::process {
namespace {

constexpr int kSignals = 65;
std::array<std::atomic<unsigned>, kSignals> g_came;
std::atomic<int> g_event{-1};
std::atomic<pid_t> g_owner{0};

void write_event(int fd) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto put = ::write(fd, &one, sizeof one);
}

void on_signal(int number) {
  const int saved = errno;
  if (::getpid() != g_owner.load(std::memory_order_relaxed)) {
    ::signal(number, SIG_DFL);
    ::raise(number);
    errno = saved;
    return;
  }
  g_came[static_cast<std::size_t>(number)].fetch_add(1, std::memory_order_relaxed);
  const int fd = g_event.load(std::memory_order_relaxed);
  if (fd >= 0) write_event(fd);
  errno = saved;
}

}  // namespace

Signals::Signals(std::span<const int> numbers) : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "eventfd");
  for (auto& came : g_came) came.store(0, std::memory_order_relaxed);
  g_event.store(event_.get(), std::memory_order_relaxed);
  g_owner.store(::getpid(), std::memory_order_relaxed);
  for (const int number : numbers) {
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (::sigaction(number, &action, nullptr) != 0)
      throw std::system_error(errno, std::generic_category(), "sigaction");
    base::fd_registry::add_signal(number);
  }
}

Signals::~Signals() {
  if (g_owner.load(std::memory_order_relaxed) == ::getpid() &&
      g_event.load(std::memory_order_relaxed) == event_.get()) {
    g_event.store(-1, std::memory_order_relaxed);
  }
}

void Signals::drain() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
}

unsigned Signals::take(int number) noexcept {
  return g_came[static_cast<std::size_t>(number)].exchange(0, std::memory_order_relaxed);
}

void Signals::poke() const noexcept { write_event(event_.get()); }

}  // namespace m0::process
