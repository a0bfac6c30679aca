#pragma once
// How events look on a held WebSocket: frames of their data alone, or of JSON that says what they are.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "m0/pubsub/encoding.hpp"
#include "m0/websocket/deflate.hpp"
#include "m0/websocket/frame.hpp"

namespace m0::held {

/// Compresses for a whole loop; zlib's memory is taken when it is first needed.
class SharedDeflater {
 public:
  /// The window: a client that does not allow as much gets no compression. Small, since messages are compressed each by
  /// itself and gain little from a greater one.
  static constexpr int kWindowBits = 12;
  void compress(std::string_view message, std::string& out) {
    if (!deflater_) deflater_ = std::make_unique<websocket::Deflater>(kWindowBits);
    deflater_->compress(message, out);
  }

 private:
  std::unique_ptr<websocket::Deflater> deflater_;
};

/// The loop.
class WebSocketEncoding final : public pubsub::Encoding {
 public:
  enum class Frames : std::uint8_t { Raw, Json };

  /// Null: these connections have not agreed on permessage-deflate.
  WebSocketEncoding(unsigned kind, Frames frames, SharedDeflater* deflater) noexcept
      : Encoding(kind), frames_(frames), deflater_(deflater) {}

  void append(std::string& out, const pubsub::EventId& id, const pubsub::Record& record) const override;
  /// As JSON an event "m0-gap", like an event stream's; raw frames have no way to say it.
  [[nodiscard]] bool append_gap(std::string& out, const pubsub::EventId& from,
                                const pubsub::EventId& to) const override;
  /// As JSON an event "m0-cursor" that says where the client is; nothing as raw frames.
  void append_cursor(std::string& out, const pubsub::EventId& at) const;
  /// A whole message in one frame: text as binary where it is no UTF-8.
  void append_message(std::string& out, websocket::Opcode kind, std::string_view payload) const;

  /// Compressed are messages that are worth it, up to a size whose frames a hub's cache keeps: those of more would be
  /// compressed again for each client.
  static constexpr std::size_t kLeastCompressed = 128;
  static constexpr std::size_t kMostCompressed = std::size_t{4} * 1024;

 private:
  void append_json(std::string& out, const pubsub::EventId& id, std::string_view channel, std::string_view name,
                   std::string_view data, bool binary) const;

  Frames frames_;
  SharedDeflater* deflater_;
};

/// One of each kind, for one loop.
class WebSocketEncodings {
 public:
  [[nodiscard]] const WebSocketEncoding& of(WebSocketEncoding::Frames frames, bool deflate) const noexcept {
    const bool json = frames == WebSocketEncoding::Frames::Json;
    return deflate ? (json ? json_deflated_ : raw_deflated_) : (json ? json_ : raw_);
  }

 private:
  using Frames = WebSocketEncoding::Frames;
  // 0 and 1 are event streams.
  SharedDeflater deflater_;
  WebSocketEncoding raw_{2, Frames::Raw, nullptr};
  WebSocketEncoding json_{3, Frames::Json, nullptr};
  WebSocketEncoding raw_deflated_{4, Frames::Raw, &deflater_};
  WebSocketEncoding json_deflated_{5, Frames::Json, &deflater_};
};

}  // namespace m0::held
