#pragma once
// The application that a Python developer names, behind the interface of every door.

#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "m0/handler/application.hpp"
#include "m0/python/interpreter.hpp"
#include "m0/python/main_thread.hpp"
#include "m0/python/py_ref.hpp"

namespace m0::python {

/// Another application beside the main one.
struct PythonMount {
  std::string prefix;  // for what is said about it
  std::string target;  // MODULE[:ATTR]
};

struct PythonConfig {
  std::string target = {};               // MODULE[:ATTR]
  std::vector<PythonMount> mounts = {};  // Exchange::target 1 and on; 0 is the main application
  bool factory = false;                  // the main target makes the application
  std::string app_dir = ".";             // first on sys.path
  bool preload = false;                  // load() runs in the supervisor, before the fork
  std::string worker_start = {};         // MODULE:FUNC, called in each worker with its index; empty: none
  base::Duration switch_interval = std::chrono::milliseconds(1);
};

/// Made attached on the interpreter's main thread, which is detached as long as this lives. make_thread(): the new
/// thread; everything else: the main thread.
class PythonApplication final : public handler::Application {
 public:
  explicit PythonApplication(PythonConfig config);

  void load() override;
  [[nodiscard]] unsigned parallelism() const noexcept override;
  [[nodiscard]] std::unique_ptr<handler::ThreadBody> make_thread(const pool::ThreadContext& context,
                                                                 std::span<const std::uint16_t> targets) override;
  void wait(int wake_fd) override;
  void unload() noexcept override;
  [[nodiscard]] std::string description() const override;
  void set_surroundings(const Surroundings& surroundings) noexcept override;

  /// fork() between the interpreter's own hooks. What fork() returns.
  [[nodiscard]] pid_t fork() noexcept;
  /// The exit functions ran in this process: it ends by _exit.
  [[nodiscard]] bool unloaded() const noexcept { return unloaded_; }

 private:
  void load_applications();
  void run_worker_hook();

  const PythonConfig config_;
  MainThread main_;
  Surroundings surroundings_;
  std::unique_ptr<Interpreter> interpreter_;
  std::vector<PyObject*> applications_;  // by target; never dropped, like the interpreter's other objects
  sigset_t signals_{};                   // blocked where the application was loaded: what it expects everywhere
  std::string refusal_;                  // why this worker cannot start, found where nobody could be told
  bool unloaded_ = false;
};

}  // namespace m0::python
