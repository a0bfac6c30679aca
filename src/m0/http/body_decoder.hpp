#pragma once
// Takes the framing off a request's body (RFC 9112 sections 6 and 7).

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string_view>

#include "m0/http/head_buffer.hpp"
#include "m0/http/limits.hpp"
#include "m0/http/refusal.hpp"
#include "m0/http/request_head.hpp"

namespace m0::http {

/// Copies nothing and, unless trailers come in pieces, allocates nothing. One thread at a time.
class BodyDecoder {
 public:
  /// A body of that many bytes. The limit on it is the caller's to check.
  void start_length(std::uint64_t length) noexcept;
  void start_chunked() noexcept;

  struct Piece {
    std::size_t used = 0;   // of the bytes given, framing included
    std::string_view data;  // bytes of the body, may be empty
  };
  /// Takes bytes up to the end of the first piece of data in them. Called again with the rest until there is none or
  /// done(). `scratch` is written when trailers are checked.
  [[nodiscard]] std::expected<Piece, Refusal> decode(const Limits& limits, std::string_view bytes,
                                                     RequestHead& scratch);
  [[nodiscard]] bool done() const noexcept { return state_ == State::Done; }

 private:
  enum class State : std::uint8_t { Done, Length, Size, Extension, SizeEnd, Data, DataCr, DataLf, Trailers };

  [[nodiscard]] std::expected<std::size_t, Refusal> framing(const Limits& limits, std::string_view bytes,
                                                            RequestHead& scratch);
  [[nodiscard]] std::expected<void, Refusal> end_size_line(const Limits& limits) noexcept;
  [[nodiscard]] std::expected<std::size_t, Refusal> extension(const Limits& limits, std::string_view bytes) noexcept;
  [[nodiscard]] std::expected<std::size_t, Refusal> trailers(const Limits& limits, std::string_view bytes,
                                                             RequestHead& scratch);

  std::uint64_t left_ = 0;     // of the body, or of the chunk
  std::uint64_t decoded_ = 0;  // of all chunks, the current one whole
  std::unique_ptr<HeadBuffer> trailers_;
  std::uint32_t line_ = 0;    // bytes of the chunk-size line
  std::uint32_t excess_ = 0;  // bytes of extensions beyond the bytes of data
  std::uint8_t digits_ = 0;   // of the chunk size
  State state_ = State::Done;
};

}  // namespace m0::http
