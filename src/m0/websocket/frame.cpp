#include "m0/websocket/frame.hpp"

#include <cstring>

#include "m0/base/check.hpp"
#include "m0/websocket/close_code.hpp"
#include "m0/websocket/utf8.hpp"

namespace m0::websocket {
namespace {

void append_big_endian(std::string& out, std::uint64_t value, unsigned bytes) {
  while (bytes-- > 0) out += static_cast<char>(value >> (8 * bytes) & 0xffU);
}

void append_header(std::string& out, FrameKind kind, std::uint64_t length, unsigned mask_bit) {
  M0_CHECK(!is_control(kind.opcode) || (kind.fin && !kind.compressed && length <= kMaxControl));
  unsigned first = static_cast<unsigned>(kind.opcode);
  if (kind.fin) first |= kFin;
  if (kind.compressed) first |= kRsv1;
  out += static_cast<char>(first);
  if (length < kLength16) {
    append_big_endian(out, mask_bit | length, 1);
  } else if (length <= 0xffff) {
    append_big_endian(out, mask_bit | kLength16, 1);
    append_big_endian(out, length, 2);
  } else {
    append_big_endian(out, mask_bit | kLength64, 1);
    append_big_endian(out, length, 8);
  }
}

}  // namespace

void append_header(std::string& out, FrameKind kind, std::uint64_t length) { append_header(out, kind, length, 0); }

void append_frame(std::string& out, FrameKind kind, std::string_view payload) {
  append_header(out, kind, payload.size());
  out += payload;
}

void append_close(std::string& out, std::uint16_t code, std::string_view reason) {
  if (code == close_code::kNoStatus) return append_header(out, {Opcode::Close}, 0);
  M0_CHECK(server_may_send_code(code));
  reason = reason.substr(0, kMaxControl - 2);
  reason = reason.substr(0, utf8_prefix(reason));
  append_header(out, {Opcode::Close}, 2 + reason.size());
  append_big_endian(out, code, 2);
  out += reason;
}

void unmask(std::span<char> bytes, Mask mask, std::uint64_t offset) noexcept {
  // The mask twice, turned to where `bytes` begin: a word that fits at every eighth byte of them. 18 GB/s where one
  // byte at a time gives 1.2 (session_benchmark).
  std::array<std::uint8_t, 8> turned;
  for (std::size_t i = 0; i < turned.size(); ++i) turned[i] = mask[(offset + i) % mask.size()];
  std::uint64_t word;
  std::memcpy(&word, turned.data(), sizeof word);

  char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= sizeof word; at += sizeof word, left -= sizeof word) {
    std::uint64_t eight;
    std::memcpy(&eight, at, sizeof eight);
    eight ^= word;
    std::memcpy(at, &eight, sizeof eight);
  }
  for (std::size_t i = 0; i < left; ++i) at[i] = static_cast<char>(at[i] ^ turned[i]);
}

void append_client_frame(std::string& out, FrameKind kind, Mask mask, std::string_view payload) {
  append_header(out, kind, payload.size(), kMasked);
  for (const std::uint8_t byte : mask) out += static_cast<char>(byte);
  const std::size_t at = out.size();
  out += payload;
  unmask(std::span(out).subspan(at), mask, 0);
}

}  // namespace m0::websocket
