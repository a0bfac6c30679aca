#pragma once
// Crash for what cannot happen (a bug of ours); never for what a peer, an operator or the kernel can do.

#include <cstdio>
#include <cstdlib>

#ifdef M0_THREAD_CHECKS
#include <atomic>
#include <thread>
#endif

namespace m0::base {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "m0serve: internal error: %s at %s:%d\n", condition, file, line);
  std::abort();
}

/// Says "one thread only" of an object and checks it in debug and sanitizer builds. The first call binds the thread.
class ThreadChecker {
 public:
#ifdef M0_THREAD_CHECKS
  void check() noexcept {
    std::thread::id none{};
    const std::thread::id self = std::this_thread::get_id();
    if (owner_.compare_exchange_strong(none, self)) return;
    if (none != self) check_failed("called from the wrong thread", __FILE__, __LINE__);
  }
  /// The object moves to another thread: whoever calls next owns it.
  void rebind() noexcept { owner_.store(std::thread::id{}); }

 private:
  std::atomic<std::thread::id> owner_{};
#else
  void check() noexcept {}
  void rebind() noexcept {}
#endif
};

}  // namespace m0::base

/// Always on.
#define M0_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::m0::base::check_failed(#condition, __FILE__, __LINE__))
