#pragma once
// What carries a connection's bytes: a socket today, TLS over one later.

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace m0::net {

/// The outcome of one attempt to move bytes. "Would block" is a value, not an error.
struct Moved {
  enum class What : std::uint8_t {
    Some,        // `bytes` went through, at least one
    WouldBlock,  // nothing now
    Ended,       // reading: the peer closed its side
    Gone,        // the connection is broken
  };
  What what = What::WouldBlock;
  std::size_t bytes = 0;
};

/// One loop's thread.
class Transport {
 public:
  virtual ~Transport() = default;

  [[nodiscard]] virtual int fd() const noexcept = 0;
  [[nodiscard]] virtual Moved read(std::span<char> into) noexcept = 0;
  /// `more`: further bytes follow at once, do not send a small packet yet.
  [[nodiscard]] virtual Moved write(std::span<const iovec> pieces, bool more) noexcept = 0;
  /// Up to `count` bytes of a file from `offset`. Ended: the file is shorter than that.
  [[nodiscard]] virtual Moved send_file(int file, std::uint64_t offset, std::size_t count) noexcept = 0;
  /// The connection will be held: a peer that vanished without a word is noticed within kSilence of the next bytes that
  /// are sent to it, and little of what a slow one does not read lies in the kernel.
  static constexpr unsigned kSilence = 60;  // seconds
  virtual void expect_long_silence() noexcept = 0;
  /// Sends what was written and then the end; reading goes on.
  virtual void shutdown_write() noexcept = 0;
  /// Closes at once. `reset`: the peer is told that the connection broke (an answer that was cut).
  virtual void close(bool reset) noexcept = 0;
};

}  // namespace m0::net
