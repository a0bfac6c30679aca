#pragma once
// Handlers written in C++, behind the interface of every door.

#include <memory>
#include <string>
#include <vector>

#include "m0/handler/application.hpp"
#include "m0/native/mounted_handler.hpp"

namespace m0::native {

/// make_thread(): the new thread; make_loop(): the loop's; everything else: the main thread.
class NativeApplication final : public handler::Application {
 public:
  /// Target i of the mounts is handlers[i].
  explicit NativeApplication(std::vector<MountedHandler> handlers) : handlers_(std::move(handlers)) {}

  void load() override {}
  /// The processors that this process may use.
  [[nodiscard]] unsigned parallelism() const noexcept override;
  [[nodiscard]] std::unique_ptr<handler::ThreadBody> make_thread(const pool::ThreadContext& context,
                                                                 std::span<const std::uint16_t> targets) override;
  [[nodiscard]] std::unique_ptr<handler::LoopBody> make_loop(unsigned worker) override;
  void wait(int wake_fd) override;
  void unload() noexcept override {}
  [[nodiscard]] std::string description() const override { return "native"; }
  void set_surroundings(const Surroundings&) noexcept override {}

 private:
  const std::vector<MountedHandler> handlers_;
};

}  // namespace m0::native
