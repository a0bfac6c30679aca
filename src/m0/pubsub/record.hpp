#pragma once
// How one event lies in the log: five words, then channel, name and data, padded to whole words.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "m0/pubsub/event.hpp"

namespace m0::pubsub {

/// The five words at a record's start. In memory they are 64-bit words of the machine's byte order: every process that
/// shares a log runs on one machine.
struct RecordHeader {
  enum class Kind : std::uint8_t { Event = 1, Control = 2, Pad = 3, Passing = 4 };

  static constexpr std::size_t kWords = 5;
  /// A pad may be too small for more than its first word.
  static constexpr std::size_t kPadWords = 1;

  std::uint32_t words = 0;  // of the whole record
  std::uint8_t channel_length = 0;
  std::uint8_t name_length = 0;
  Kind kind = Kind::Pad;
  bool binary = false;
  std::uint64_t seq = 0;
  std::uint64_t channel_hash = 0;
  std::uint32_t data_length = 0;
  std::int64_t time_ms = 0;  // since 1970

  [[nodiscard]] std::uint64_t first_word() const noexcept {
    return words | (std::uint64_t{channel_length} << 32) | (std::uint64_t{name_length} << 40) |
           (std::uint64_t{static_cast<std::uint8_t>(kind)} << 48) | (std::uint64_t{binary} << 56);
  }
  void read_first_word(std::uint64_t word) noexcept {
    words = static_cast<std::uint32_t>(word);
    channel_length = static_cast<std::uint8_t>(word >> 32);
    name_length = static_cast<std::uint8_t>(word >> 40);
    kind = static_cast<Kind>(static_cast<std::uint8_t>(word >> 48));
    binary = (word >> 56) != 0;
  }
  [[nodiscard]] static constexpr std::size_t words_for(std::size_t text_bytes) noexcept {
    return kWords + (text_bytes + 7) / 8;
  }
  [[nodiscard]] std::size_t text_bytes() const noexcept {
    return std::size_t{channel_length} + name_length + data_length;
  }
  /// Whether its lengths agree with each other: false for memory that no writer of ours has left so.
  [[nodiscard]] bool sound() const noexcept {
    if (kind == Kind::Pad) return words >= kPadWords;
    return kind >= Kind::Event && kind <= Kind::Passing && words == words_for(text_bytes());
  }
};

/// A copy of one record, read out of the log: whole, or of an event only what an index wants, without name and data.
/// One thread.
class Record {
 public:
  [[nodiscard]] std::uint64_t seq() const noexcept { return header_.seq; }
  [[nodiscard]] std::uint64_t channel_hash() const noexcept { return header_.channel_hash; }
  [[nodiscard]] std::int64_t time_ms() const noexcept { return header_.time_ms; }
  [[nodiscard]] bool binary() const noexcept { return header_.binary; }
  [[nodiscard]] bool control() const noexcept { return header_.kind != RecordHeader::Kind::Event; }
  [[nodiscard]] std::string_view channel() const noexcept { return text().substr(0, header_.channel_length); }
  /// Of a whole record alone.
  [[nodiscard]] std::string_view name() const noexcept {
    return text().substr(header_.channel_length, header_.name_length);
  }
  /// Of a whole record alone.
  [[nodiscard]] std::string_view data() const noexcept {
    return text().substr(std::size_t{header_.channel_length} + header_.name_length, header_.data_length);
  }
  /// Where it lies in the log, and where the next one begins.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t next_position() const noexcept { return position_ + std::uint64_t{header_.words} * 8; }

 private:
  friend class EventLog;
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(words_.data()), std::min(header_.text_bytes(), words_.size() * 8)};
  }

  RecordHeader header_;
  std::uint64_t position_ = 0;
  std::vector<std::uint64_t> words_;  // behind the header
};

}  // namespace m0::pubsub
