#pragma once
// What a log carries.

#include <cstdint>
#include <string_view>

namespace m0::pubsub {

/// One event as its publisher gives it: views of bytes that are copied. It is text in UTF-8 unless `binary`.
struct NewEvent {
  std::string_view channel;  // up to kMaxName bytes
  std::string_view data = {};
  std::string_view name = {};  // the event's type; up to kMaxName bytes, may be empty
  bool binary = false;
  bool control = false;  // for the servers themselves; no channel of this kind can be subscribed to
  bool passing = false;  // of control: who does not see it in time has missed nothing
};

inline constexpr std::size_t kMaxName = 255;

/// The same for everybody who computes it, in any process.
[[nodiscard]] constexpr std::uint64_t hash_channel(std::string_view channel) noexcept {
  // FNV-1a, then the finalizer of MurmurHash3, so that its low bits may choose a bucket.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : channel) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

}  // namespace m0::pubsub
