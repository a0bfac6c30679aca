#pragma once
// A held event stream: a place in the log in place of a queue.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "m0/base/intrusive_list.hpp"
#include "m0/held/event_stream_encoding.hpp"
#include "m0/held/wire.hpp"
#include "m0/pubsub/hub.hpp"

namespace m0::held {

struct DueTag;

/// The loop. Its connection owns it.
class Stream final : public pubsub::Subscriber, public base::ListNode<DueTag> {
 public:
  /// Seconds of the registry's clock.
  struct Times {
    std::uint32_t keep_alive_every;
    std::uint32_t keep_alive_at;
    std::uint32_t leave_at;  // 0: never
  };
  Stream(Wire& wire, pubsub::Hub& hub, const EventStreamEncoding& encoding, const Times& times, unsigned retry_ms);
  ~Stream() override;

  /// `first` goes out before any event.
  void open(std::string first, std::span<const std::string_view> channels, std::uint64_t cursor);
  /// The socket takes more.
  void writable() noexcept;
  /// Does what is due. False: nothing more will be.
  /// `retry_ms`: for one whose time is over.
  [[nodiscard]] bool tick(std::uint32_t now, unsigned retry_ms);
  [[nodiscard]] std::uint32_t due() const noexcept;
  /// "Come back after so long", and the end, without one of the stream's own: clients that read it by themselves never
  /// come back from that.
  void send_away(unsigned retry_ms) noexcept;

  // pubsub::Subscriber
  [[nodiscard]] pubsub::Taken take(std::string_view bytes) noexcept override;
  void fell_out() noexcept override;

 private:
  /// False: the socket is full, or gone.
  [[nodiscard]] bool flush_own() noexcept;
  void end() noexcept;

  Wire& wire_;
  pubsub::Hub& hub_;
  const EventStreamEncoding& encoding_;
  std::string own_;  // not an event's, and to be sent before the next
  Times times_;
  unsigned retry_ms_;
  bool full_ = false;  // the socket, when it was last written to
  bool over_ = false;
};

static_assert(sizeof(Stream) <= 176, "a held connection's memory is a budget");

}  // namespace m0::held
