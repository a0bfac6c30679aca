#pragma once
// A gate that handlers wait at, so that a test decides when they go on. For *_test.cpp only.

#include <atomic>
#include <chrono>
#include <thread>

namespace m0::server::testing {

class Gate {
 public:
  ~Gate() { open(); }
  void wait() {
    ++waiting_;
    while (!open_.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void open() { open_ = true; }
  [[nodiscard]] unsigned waiting() const { return waiting_; }

 private:
  std::atomic<bool> open_{false};
  std::atomic<unsigned> waiting_{0};
};

}  // namespace m0::server::testing
