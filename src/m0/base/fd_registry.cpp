#include "m0/base/fd_registry.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace m0::base::fd_registry {
namespace {

constexpr int kTracked = 1 << 20;
constexpr int kWordBits = 64;

// Atomics without any lock: the child's hook runs while other threads of the parent may have been in here.
std::array<std::atomic<std::uint64_t>, kTracked / kWordBits> g_words;
std::atomic<int> g_highest_word{0};
std::atomic<std::uint64_t> g_signals{0};
std::atomic<bool> g_forked_child{false};
std::atomic<bool> g_has_forked{false};
thread_local bool t_intended = false;

void close_registered() noexcept {
  const int last = g_highest_word.load(std::memory_order_relaxed);
  for (int w = 0; w <= last; ++w) {
    std::uint64_t bits = g_words[static_cast<std::size_t>(w)].exchange(0, std::memory_order_relaxed);
    while (bits != 0) {
      ::close(w * kWordBits + std::countr_zero(bits));
      bits &= bits - 1;
    }
  }
}

void in_parent() noexcept {
  if (!t_intended) g_has_forked.store(true, std::memory_order_relaxed);
}

void in_child() noexcept {
  if (t_intended) return;
  g_forked_child.store(true, std::memory_order_relaxed);
  close_registered();
  const std::uint64_t signals = g_signals.load(std::memory_order_relaxed);
  for (int number = 1; number < kWordBits; ++number) {
    if ((signals >> number) & 1U) ::signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

void add(int fd) noexcept {
  if (fd < 0 || fd >= kTracked) return;
  const int word = fd / kWordBits;
  int seen = g_highest_word.load(std::memory_order_relaxed);
  while (seen < word && !g_highest_word.compare_exchange_weak(seen, word, std::memory_order_relaxed)) {
  }
  g_words[static_cast<std::size_t>(word)].fetch_or(1ULL << (fd % kWordBits), std::memory_order_relaxed);
}

void remove(int fd) noexcept {
  if (fd < 0 || fd >= kTracked) return;
  g_words[static_cast<std::size_t>(fd / kWordBits)].fetch_and(~(1ULL << (fd % kWordBits)), std::memory_order_relaxed);
}

void install_fork_hooks() {
  static const bool once = [] {
    pthread_atfork(nullptr, in_parent, in_child);
    return true;
  }();
  static_cast<void>(once);
}

IntendedFork::IntendedFork() noexcept { t_intended = true; }
IntendedFork::~IntendedFork() { t_intended = false; }

bool fork_is_intended() noexcept { return t_intended; }
bool in_forked_child() noexcept { return g_forked_child.load(std::memory_order_relaxed); }
bool has_forked() noexcept { return g_has_forked.load(std::memory_order_relaxed); }

void add_signal(int signal) noexcept {
  if (signal > 0 && signal < kWordBits) g_signals.fetch_or(1ULL << signal, std::memory_order_relaxed);
}

}  // namespace m0::base::fd_registry
