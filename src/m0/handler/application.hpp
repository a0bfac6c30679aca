#pragma once
// The one interface between a worker and the door that was opened (Python or native): who may answer.

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "m0/handler/exchange.hpp"
#include "m0/pool/offload_pool.hpp"
#include "m0/pool/thread_context.hpp"

namespace m0::handler {

using JobThread = pool::PoolThread<Exchange>;

/// The application cannot be loaded: exit 1. what() is one sentence; a traceback was logged before.
class LoadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// It could be loaded, but not as it is configured here: exit 78, and nothing that is tried again.
class ConfigurationError : public LoadError {
 public:
  using LoadError::LoadError;
};

/// What one pool thread runs. Made, run and destroyed on that thread.
class ThreadBody {
 public:
  virtual ~ThreadBody() = default;
  /// Takes exchanges from `thread` until it gives none, and completes each one that it took.
  virtual void run(JobThread& thread) noexcept = 0;
};

/// Answers on the loop itself; whoever wrote it promises that it does not block. Made, used and destroyed on the loop's
/// thread.
class LoopBody {
 public:
  virtual ~LoopBody() = default;
  /// Writes the response for exchange.target.
  virtual void answer(Exchange& exchange) noexcept = 0;
};

/// Owned by the process; outlives every worker thread.
class Application {
 public:
  virtual ~Application() = default;

  /// Imports or builds what will answer. The worker's main thread, before any pool thread exists. Throws LoadError
  /// or ConfigurationError.
  virtual void load() = 0;
  /// How many pool threads can make progress at once.
  [[nodiscard]] virtual unsigned parallelism() const noexcept = 0;
  /// Builds a thread's body; on that thread. `targets`: the parts of the application that its lane can be asked for.
  /// Throws std::exception: the worker does not start.
  [[nodiscard]] virtual std::unique_ptr<ThreadBody> make_thread(const pool::ThreadContext& context,
                                                                std::span<const std::uint16_t> targets) = 0;
  /// Builds what answers on the loop; on the loop's thread, before any pool thread. Null where nothing does. Throws
  /// std::exception: the worker does not start.
  [[nodiscard]] virtual std::unique_ptr<LoopBody> make_loop(unsigned /*worker*/) { return nullptr; }
  /// The worker's main thread waits here until `wake_fd` is readable. The door lets other threads run meanwhile and
  /// does its own housekeeping (signal handlers of the application). wake_fd is not emptied.
  virtual void wait(int wake_fd) = 0;
  /// Loop and pool are gone, or were given up. The application's exit functions run here, on the main thread.
  virtual void unload() noexcept = 0;
  /// For the ready line: "CPython 3.11.2", "native".
  [[nodiscard]] virtual std::string description() const = 0;

  /// Facts for what the application is told about its surroundings; set before load().
  struct Surroundings {
    bool multiprocess = false;
    bool multithread = true;
    unsigned worker = 0;
  };
  virtual void set_surroundings(const Surroundings& surroundings) noexcept = 0;
};

}  // namespace m0::handler
