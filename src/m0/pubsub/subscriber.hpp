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
  std::uint32_t hint = 0;    // the low bits of the newest number of this channel that it has got
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

 private:
  friend class Hub;
  const Encoding* encoding_ = nullptr;
  std::unique_ptr<Subscription[]> subscriptions_;
  std::uint64_t cursor_ = 0;
  std::uint32_t offset_ = 0;  // bytes of the next frame that were sent
  std::uint16_t count_ = 0;
  bool blocked_ = false;  // its socket is full
  bool ended_ = false;    // gets nothing more
};

}  // namespace m0::pubsub
