#pragma once
// Finds what was delivered in a subscriber's bytes, whatever frames it.

#include <cstdint>
#include <string_view>

namespace m0::bench {

/// Published data begin with "~" and their number in eight digits; everything else in the bytes is passed over. The
/// numbers of one subscriber have to count up from 0. One thread.
class DeliveryReader {
 public:
  /// Takes the next bytes, and calls `delivered(number)` for each new number that came whole.
  template <typename Delivered>
  void feed(std::string_view bytes, Delivered&& delivered);

  [[nodiscard]] std::uint32_t received() const noexcept { return received_; }
  /// Numbers that are not there though a later one came, and those that came late or twice.
  [[nodiscard]] std::uint32_t skipped() const noexcept { return next_ - received_; }
  [[nodiscard]] std::uint32_t repeated() const noexcept { return repeated_; }

 private:
  static constexpr std::uint8_t kDigits = 8;

  std::uint32_t next_ = 0;
  std::uint32_t received_ = 0;
  std::uint32_t repeated_ = 0;
  std::uint32_t number_ = 0;
  std::uint8_t digits_ = kDigits;  // read of the number; kDigits: outside of one
};

template <typename Delivered>
void DeliveryReader::feed(std::string_view bytes, Delivered&& delivered) {
  while (!bytes.empty()) {
    if (digits_ == kDigits) {
      const std::size_t mark = bytes.find('~');
      if (mark == std::string_view::npos) return;
      bytes.remove_prefix(mark + 1);
      digits_ = 0;
      number_ = 0;
      continue;
    }
    const char digit = bytes.front();
    // A WebSocket's frame of 126 bytes and more has a '~' for its length's first byte: what follows is no number.
    if (digit < '0' || digit > '9') {
      digits_ = kDigits;
      continue;
    }
    bytes.remove_prefix(1);
    number_ = number_ * 10 + static_cast<std::uint32_t>(digit - '0');
    if (++digits_ < kDigits) continue;
    if (number_ < next_) {
      ++repeated_;
      continue;
    }
    next_ = number_ + 1;
    ++received_;
    delivered(number_);
  }
}

}  // namespace m0::bench
