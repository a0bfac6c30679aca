#pragma once
// A held event stream.

#include <string>
#include <string_view>

#include "m0/held/client.hpp"
#include "m0/held/event_stream_encoding.hpp"

namespace m0::held {

/// The loop. Its connection owns it.
class Stream final : public Client {
 public:
  Stream(Common& common, Wire& wire, const EventStreamEncoding& encoding, const Times& times, std::uint64_t serial,
         std::string metadata);

  [[nodiscard]] std::string_view metadata() const noexcept override { return metadata_; }

  // pubsub::Subscriber
  void fell_out() noexcept override { end(Ending::Cut); }

 private:
  [[nodiscard]] bool sign_of_life(std::string& out) override;
  void append_message(std::string& out, std::string_view data, bool binary) const override;
  /// The end comes without one of the stream's own: clients that read it by themselves never come back from that.
  void leave_for_now() noexcept override;
  void dismiss(const pubsub::Farewell& farewell) noexcept override;

  const EventStreamEncoding& encoding_;
  std::string metadata_;
};

static_assert(sizeof(Stream) <= 256, "a held connection's memory is a budget");

}  // namespace m0::held
