#include "m0/python/main_thread.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "m0/base/logger.hpp"
#include "m0/python/exception.hpp"
#include "m0/python/py_ref.hpp"

namespace m0::python {
namespace {

// Pool threads release returned bytes at their next request; only when none came for this long it is done here, which
// costs the interpreter's lock.
constexpr int kIdleMilliseconds = 100;
constexpr char kReturned = 0;  // no signal has this number

/// signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
bool set_wakeup_fd(int descriptor) noexcept {
  const PyRef module(PyImport_ImportModule("signal"));
  if (!module) return false;
  const PyRef function(PyObject_GetAttrString(module.get(), "set_wakeup_fd"));
  const PyRef arguments(Py_BuildValue("(i)", descriptor));
  const PyRef options(Py_BuildValue("{s:O}", "warn_on_full_buffer", Py_False));
  if (!function || !arguments || !options) return false;
  return static_cast<bool>(PyRef(PyObject_Call(function.get(), arguments.get(), options.get())));
}

}  // namespace

MainThread::~MainThread() {
  PyEval_RestoreThread(state_);
  // Its number may soon be another file's.
  if (pipe_owner_ == ::getpid() && !set_wakeup_fd(-1)) log_exception("signal.set_wakeup_fd");
}

void MainThread::watch_signals() {
  if (pipe_owner_ == ::getpid()) return;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) != 0) {
    base::log::warning("no pipe for signals could be made: Python signal handlers will run late");
    return;
  }
  read_end_ = base::Fd(ends[0]);
  write_end_ = base::Fd(ends[1]);
  pipe_owner_ = ::getpid();
  {
    const MainAttached attached(*this);
    if (!set_wakeup_fd(write_end_.get())) log_exception("signal.set_wakeup_fd");
  }
  // Those that came before anybody was told of them: they would wait for the next one.
  run_signal_handlers();
}

void MainThread::wake() const noexcept { [[maybe_unused]] const auto wrote = ::write(write_end_.get(), &kReturned, 1); }

void MainThread::run_signal_handlers() noexcept {
  const MainAttached attached(*this);
  // One that raises ends nothing but itself.
  while (PyErr_CheckSignals() != 0) log_exception("a signal handler");
}

void MainThread::wait(int wake_fd, ReturnedBytes* returned) {
  int timeout = -1;
  for (;;) {
    std::array<pollfd, 2> watched{pollfd{wake_fd, POLLIN, 0}, pollfd{read_end_.get(), POLLIN, 0}};
    const int ready = ::poll(watched.data(), watched.size(), timeout);
    if (ready < 0 && errno == EINTR) {
      run_signal_handlers();
      // A handler of ours may have run as well, and said so through wake_fd.
      continue;
    }
    if (ready == 0 && returned != nullptr) {
      if (!returned->empty()) {
        const MainAttached attached(*this);
        returned->release_all();
      }
      if (returned->rest()) timeout = -1;
      continue;
    }
    if ((watched[1].revents & POLLIN) != 0) {
      std::array<char, 64> bytes{};
      bool signal = false;
      ssize_t got = 0;
      while ((got = ::read(read_end_.get(), bytes.data(), bytes.size())) > 0) {
        for (ssize_t i = 0; i < got; ++i) signal = signal || bytes[static_cast<std::size_t>(i)] != kReturned;
      }
      if (signal) run_signal_handlers();
      timeout = kIdleMilliseconds;
    }
    if (watched[0].revents != 0 || ready < 0) return;
  }
}

}  // namespace m0::python
