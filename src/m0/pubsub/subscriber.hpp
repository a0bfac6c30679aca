#pragma once
// One held connection as the hub sees it. It has no queue: a place in the log, and how much of the next frame it has.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "m0/base/intrusive_list.hpp"
#include "m0/pubsub/channel_index.hpp"
#include "m0/pubsub/encoding.hpp"

namespace m0::pubsub {

/// One channel of one subscriber.
struct Subscription {
  ChannelId channel = 0;
  std::uint32_t member = 0;  // where it stands among the channel's subscribers
  std::uint64_t got = 0;     // the newest number of this channel that it surely has; 0: none is known
};

/// How much of what it was given its socket took.
struct Taken {
  std::size_t bytes = 0;  // less than all: the socket is full
  bool gone = false;      // nothing more can be sent
};

/// The loop. Must have left the hub before it is destroyed.
class Subscriber : public base::ListNode<> {
 public:
  Subscriber() = default;

  /// Sends what the socket takes. Called by the hub, which it must not call in turn.
  [[nodiscard]] virtual Taken take(std::string_view bytes) noexcept = 0;
  /// It had interrupted, and has no part of a frame now: it sends what it has. Called by the hub, of which it may call
  /// silence() and replace() only.
  virtual void interrupted() noexcept {}
  /// It has got everything that was published before its barrier, and the barrier is gone: it may set another one.
  /// Called by the hub, of which it may call silence() and set_barrier() only.
  virtual void at_barrier() noexcept {}
  /// It fell out of the log where that cannot be told: in the middle of a frame, or because its encoding has no gap. It
  /// has to be ended; the hub gives it nothing more.
  virtual void fell_out() noexcept = 0;

  [[nodiscard]] bool joined() const noexcept { return encoding_ != nullptr; }
  /// Everything up to this number it has got, or never will.
  [[nodiscard]] std::uint64_t cursor() const noexcept { return cursor_; }
  /// It has a part of a frame: nothing else may be sent before the rest.
  [[nodiscard]] bool mid_frame() const noexcept { return offset_ != 0; }

 protected:
  virtual ~Subscriber() = default;
  /// It has something else to send, and gets no more than the rest of the frame that it has a part of.
  void interrupt() noexcept { interrupts_ = true; }

 private:
  friend class Hub;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  const Encoding* encoding_ = nullptr;
  std::unique_ptr<Subscription[]> subscriptions_;
  std::uint64_t cursor_ = 0;
  std::uint64_t barrier_ = kNone;  // nothing after this number is sent yet
  std::uint32_t offset_ = 0;       // bytes of the next frame that were sent
  std::uint16_t count_ = 0;
  bool blocked_ = false;  // its socket is full
  bool ended_ = false;    // gets nothing more
  bool interrupts_ = false;
};

}  // namespace m0::pubsub
