#pragma once
// The interpreter's main thread: where signal handlers of the application run, and what nobody else has time for.

#include <Python.h>

#include <sys/types.h>

#include "m0/base/fd.hpp"
#include "m0/python/returned_bytes.hpp"

namespace m0::python {

/// Between the requests the main thread is detached. Everything but wake(): the main thread.
class MainThread {
 public:
  /// Attached on return from an entry point of the module; detached from then on.
  MainThread() noexcept : state_(PyEval_SaveThread()) {}
  ~MainThread();
  MainThread(const MainThread&) = delete;
  MainThread& operator=(const MainThread&) = delete;

  void attach() noexcept { PyEval_RestoreThread(state_); }
  void detach() noexcept { state_ = PyEval_SaveThread(); }

  /// From now on the interpreter's signals are seen here. Again in a child of a fork, which must not share the pipe.
  void watch_signals();
  /// Returns when `wake_fd` is readable; runs Python's signal handlers meanwhile, and releases what was returned.
  void wait(int wake_fd, ReturnedBytes* returned);
  /// Something was returned. Any thread; never blocks.
  void wake() const noexcept;

 private:
  void run_signal_handlers() noexcept;

  PyThreadState* state_;
  // A pipe, not an eventfd: CPython writes single bytes into it, which an eventfd refuses.
  base::Fd read_end_;
  base::Fd write_end_;
  pid_t pipe_owner_ = 0;
};

/// Detached -> attached for a scope, on the main thread.
class MainAttached {
 public:
  explicit MainAttached(MainThread& thread) noexcept : thread_(thread) { thread_.attach(); }
  ~MainAttached() { thread_.detach(); }
  MainAttached(const MainAttached&) = delete;
  MainAttached& operator=(const MainAttached&) = delete;

 private:
  MainThread& thread_;
};

}  // namespace m0::python
