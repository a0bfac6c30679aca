#include "m0/websocket/header_reader.hpp"

#include <algorithm>

#include "m0/websocket/close_code.hpp"

namespace m0::websocket {
namespace {

constexpr std::size_t kLengthAt = 2;  // of a length of two or eight bytes

bool is_known(Opcode opcode) noexcept {
  switch (opcode) {
    case Opcode::Continuation:
    case Opcode::Text:
    case Opcode::Binary:
    case Opcode::Close:
    case Opcode::Ping:
    case Opcode::Pong: return true;
  }
  return false;
}

}  // namespace

std::size_t HeaderReader::length_end() const noexcept {
  const unsigned length = bytes_[1] & kLengthBits;
  return length < kLength16 ? kLengthAt : length == kLength16 ? kLengthAt + 2 : kLengthAt + 8;
}

std::uint64_t HeaderReader::length() const noexcept {
  const std::size_t end = length_end();
  if (end == kLengthAt) return bytes_[1] & kLengthBits;
  std::uint64_t length = 0;
  for (std::size_t i = kLengthAt; i < end; ++i) length = length << 8U | bytes_[i];
  return length;
}

Mask HeaderReader::mask() const noexcept {
  Mask mask;
  std::copy_n(bytes_.begin() + length_end(), mask.size(), mask.begin());
  return mask;
}

// RFC 6455 5.2 (reserved bits and opcodes), 5.4 (fragments), 5.5 (control frames); RFC 7692 6 (RSV1).
const char* HeaderReader::check_first(HeaderRules rules) const noexcept {
  const bool control = is_control(opcode());
  const bool goes_on = opcode() == Opcode::Continuation;
  if ((bytes_[0] & (kRsv2 | kRsv3)) != 0) return "reserved bit";
  if (!is_known(opcode())) return "reserved opcode";
  if (compressed()) {
    if (!rules.deflate) return "compression that was not agreed on";
    if (control) return "compressed control frame";
    if (goes_on) return "compression declared inside a message";
  }
  if (control) return fin() ? nullptr : "fragmented control frame";
  if (goes_on && !rules.in_message) return "continuation of no message";
  if (!goes_on && rules.in_message) return "message inside a message";
  return nullptr;
}

const char* HeaderReader::check_second() const noexcept {
  if ((bytes_[1] & kMasked) == 0) return "frame is not masked";  // RFC 6455 5.1
  if (is_control(opcode()) && (bytes_[1] & kLengthBits) > kMaxControl) return "control frame is too long";
  return nullptr;
}

// RFC 6455 5.2: the minimal number of bytes, and the most significant bit of eight is 0.
const char* HeaderReader::check_length() const noexcept {
  const bool eight = length_end() == kLengthAt + 8;
  if (length() <= (eight ? 0xffffU : kMaxControl)) return "length is not in its shortest form";
  if (eight && bytes_[kLengthAt] >= 0x80) return "length of more than 63 bits";
  return nullptr;
}

std::expected<std::size_t, Violation> HeaderReader::feed(std::string_view bytes, HeaderRules rules) noexcept {
  std::size_t used = 0;
  while (used < bytes.size() && !complete()) {
    bytes_[size_++] = static_cast<std::uint8_t>(bytes[used++]);
    const char* fault = nullptr;
    if (size_ == 1) {
      fault = check_first(rules);
    } else if (size_ == 2) {
      fault = check_second();
    } else if (size_ == length_end()) {
      fault = check_length();
    }
    if (fault != nullptr) return std::unexpected(Violation{close_code::kProtocolError, fault});
  }
  return used;
}

}  // namespace m0::websocket
