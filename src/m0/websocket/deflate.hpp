#pragma once
// The compression of permessage-deflate (RFC 7692 section 7.2), without context takeover on either side: each message
// is compressed by itself, so that what was compressed once can be sent to many, and a connection needs no zlib memory.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;

namespace m0::websocket {

/// About 256 KiB with a window of 15 bits; one a loop and window, never one a connection. One thread at a time.
class Deflater {
 public:
  /// The window that was agreed on (9 to 15: zlib has no raw stream of 8), and zlib's level (1 to 9).
  explicit Deflater(int window_bits = 15, int level = 6);

  /// Appends the payload of a message, to be sent in frames of which the first has RSV1.
  void compress(std::string_view message, std::string& out);

 private:
  struct End {
    void operator()(z_stream_s* stream) const noexcept;
  };
  std::unique_ptr<z_stream_s, End> stream_;  // zlib keeps its address
};

enum class InflateError : std::uint8_t {
  TooBig,   // it would have more bytes than it may
  Corrupt,  // no DEFLATE data, or not to its end
};

/// Takes messages one after the other: one a loop. A message is given to it when all of it is there, not fragment by
/// fragment: a fragmented message in progress costs its compressed bytes and no window of 32 KiB, and a client cannot
/// make a server keep a thousand times what it has sent. One thread at a time.
class Inflater {
 public:
  Inflater();

  /// Begins a message, forgetting the last one, of which nothing may be left over (RFC 7692 7.1.1.2). It may have at
  /// most `limit` bytes.
  void start(std::size_t limit);
  /// Takes the next piece of the payload and appends what it stands for to `out`. No more than the limit is ever
  /// appended, or allocated there. After an error only start() is left.
  [[nodiscard]] std::expected<void, InflateError> feed(std::string_view piece, std::string& out);
  /// The payload is complete.
  [[nodiscard]] std::expected<void, InflateError> finish(std::string& out);

 private:
  struct End {
    void operator()(z_stream_s* stream) const noexcept;
  };
  std::unique_ptr<z_stream_s, End> stream_;
  std::size_t room_ = 0;  // what the limit leaves
};

}  // namespace m0::websocket
