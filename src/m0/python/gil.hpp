#pragma once
// When a thread holds the interpreter's lock and when it does not.

#include <Python.h>

namespace m0::python {

/// Attached -> detached for a scope: around everything that waits. On an attached thread.
class GilReleased {
 public:
  GilReleased() noexcept : state_(PyEval_SaveThread()) {}
  ~GilReleased() { PyEval_RestoreThread(state_); }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

/// A thread's interpreter state for its whole life (making one anew for each attach costs 4 to 6 times an attach).
/// Detached when built and when it is destroyed. That thread only.
class ThreadAttachment {
 public:
  ThreadAttachment() noexcept : gil_state_(PyGILState_Ensure()), state_(PyEval_SaveThread()) {}
  ~ThreadAttachment() {
    PyEval_RestoreThread(state_);
    PyGILState_Release(gil_state_);
  }
  ThreadAttachment(const ThreadAttachment&) = delete;
  ThreadAttachment& operator=(const ThreadAttachment&) = delete;

  void attach() noexcept { PyEval_RestoreThread(state_); }
  void detach() noexcept { state_ = PyEval_SaveThread(); }

 private:
  PyGILState_STATE gil_state_;
  PyThreadState* state_;
};

/// Detached -> attached for a scope.
class Attached {
 public:
  explicit Attached(ThreadAttachment& thread) noexcept : thread_(thread) { thread_.attach(); }
  ~Attached() { thread_.detach(); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  ThreadAttachment& thread_;
};

}  // namespace m0::python
