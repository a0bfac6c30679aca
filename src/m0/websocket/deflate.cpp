#include "m0/websocket/deflate.hpp"

#define ZLIB_CONST
#include <zlib.h>

#include <array>
#include <limits>
#include <new>

#include "m0/base/check.hpp"
#include "m0/websocket/bounded_append.hpp"

namespace m0::websocket {
namespace {

/// What zlib writes at once, on the stack.
constexpr std::size_t kChunk = 16 * 1024;

constexpr int kMemoryLevel = 8;  // zlib's default

/// RFC 7692 7.2.1: the end of an empty block without compression, which each payload loses and gets back.
constexpr std::string_view kTail("\x00\x00\xff\xff", 4);

/// Running out of memory is not the peer's doing; anything else at start-up is ours.
void check_start(int result) {
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  M0_CHECK(result == Z_OK);
}

void set_input(z_stream& stream, std::string_view bytes) noexcept {
  stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
}

void set_output(z_stream& stream, std::array<char, kChunk>& chunk) noexcept {
  stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
  stream.avail_out = static_cast<uInt>(chunk.size());
}

}  // namespace

void Deflater::End::operator()(z_stream_s* stream) const noexcept {
  deflateEnd(stream);
  delete stream;
}

Deflater::Deflater(int window_bits, int level) {
  auto stream = std::make_unique<z_stream>();
  // A negative window asks zlib for a raw stream.
  check_start(deflateInit2(stream.get(), level, Z_DEFLATED, -window_bits, kMemoryLevel, Z_DEFAULT_STRATEGY));
  stream_.reset(stream.release());
}

// RFC 7692 7.2.1. A flush ends with an empty block without compression, whose last four bytes are not sent; of an empty
// message a zero byte is left (7.2.3.6).
void Deflater::compress(std::string_view message, std::string& out) {
  M0_CHECK(message.size() <= std::numeric_limits<uInt>::max());
  M0_CHECK(deflateReset(stream_.get()) == Z_OK);
  std::array<char, kChunk> chunk;
  set_input(*stream_, message);
  do {
    set_output(*stream_, chunk);
    const int result = deflate(stream_.get(), Z_SYNC_FLUSH);
    M0_CHECK(result == Z_OK || result == Z_BUF_ERROR);
    out.append(chunk.data(), chunk.size() - stream_->avail_out);
  } while (stream_->avail_out == 0);
  M0_CHECK(out.ends_with(kTail));
  out.resize(out.size() - kTail.size());
}

void Inflater::End::operator()(z_stream_s* stream) const noexcept {
  inflateEnd(stream);
  delete stream;
}

// The greatest window reads what any smaller one wrote. zlib allocates it when a message first needs it.
Inflater::Inflater() {
  auto stream = std::make_unique<z_stream>();
  check_start(inflateInit2(stream.get(), -MAX_WBITS));
  stream_.reset(stream.release());
}

void Inflater::start(std::size_t limit) {
  M0_CHECK(inflateReset(stream_.get()) == Z_OK);
  room_ = limit;
}

std::expected<void, InflateError> Inflater::feed(std::string_view piece, std::string& out) {
  M0_CHECK(piece.size() <= std::numeric_limits<uInt>::max());
  std::array<char, kChunk> chunk;
  set_input(*stream_, piece);
  do {
    set_output(*stream_, chunk);
    const int result = inflate(stream_.get(), Z_SYNC_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    const std::size_t size = chunk.size() - stream_->avail_out;
    if (size > room_) return std::unexpected(InflateError::TooBig);
    append_bounded(out, {chunk.data(), size}, out.size() + room_);
    room_ -= size;
    if (result == Z_BUF_ERROR) break;  // nothing could be done: it is all used
    if (result == Z_STREAM_END) {
      // RFC 7692 7.2.1: a block may be marked as the final one, and the next one follows from the next whole byte. It
      // may still refer to what was before it, so that the window has to stay, which inflateReset() would empty.
      M0_CHECK(inflateResetKeep(stream_.get()) == Z_OK);
    } else if (result != Z_OK) {
      return std::unexpected(InflateError::Corrupt);
    }
  } while (stream_->avail_in > 0 || stream_->avail_out == 0);
  return {};
}

// RFC 7692 7.2.2. With the four bytes back in their place the data end behind a block; in the middle of one, a part of
// the message is missing. zlib tells by the bit 128, and by the number of bits that it has not used.
std::expected<void, InflateError> Inflater::finish(std::string& out) {
  if (const auto fed = feed(kTail, out); !fed) return fed;
  if ((stream_->data_type & ~64) != 128) return std::unexpected(InflateError::Corrupt);
  return {};
}

}  // namespace m0::websocket
