#pragma once
// Which records of the log belong to which channel: a worker's private index, built as it reads. What a subscriber has
// not got is found in proportion to how much that is, not to what the log holds.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "m0/base/check.hpp"

namespace m0::pubsub {

using ChannelId = std::uint32_t;

/// One thread. Sequence numbers rise by one a record; 0 is "none".
class ChannelIndex {
 public:
  /// The channel of this name; made when it is new, with `dropped` as the greatest number that may have left the log.
  /// It lives while it has records, or is kept.
  [[nodiscard]] ChannelId intern(std::string_view name, std::uint64_t hash, std::uint64_t dropped);
  /// The channel of this name if there is one.
  [[nodiscard]] const ChannelId* find(std::string_view name) const noexcept {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
  }
  /// A subscriber has it: it lives until as many release().
  void keep(ChannelId channel) noexcept { ++channels_[channel].kept; }
  void release(ChannelId channel) noexcept;

  /// The next record of the log is one of `channel`. `seq` follows the one before; after forget_all() it may be any.
  void append(ChannelId channel, std::uint64_t seq, std::uint64_t position);
  /// The next record of the log is nobody's: it only takes a number.
  void append_unindexed(std::uint64_t seq, std::uint64_t position);
  /// Every record that begins before `tail` has left the log.
  void drop_before(std::uint64_t tail);
  /// The reader was overtaken: nothing of what is indexed is left. `dropped(hash)` says what each channel may have
  /// lost.
  template <class Dropped>
  void forget_all(Dropped&& dropped) {
    drop_front(size_);
    for (Channel& channel : channels_) {
      if (channel.live) channel.dropped = std::max(channel.dropped, dropped(channel.hash));
    }
  }

  /// Of the records that are indexed: of a channel, and around one. 0 where there is none.
  [[nodiscard]] std::uint64_t first(ChannelId channel) const noexcept { return channels_[channel].first; }
  [[nodiscard]] std::uint64_t last(ChannelId channel) const noexcept { return channels_[channel].last; }
  [[nodiscard]] std::uint64_t next(std::uint64_t seq) const noexcept;
  [[nodiscard]] std::uint64_t previous(std::uint64_t seq) const noexcept;
  [[nodiscard]] std::uint64_t position(std::uint64_t seq) const noexcept;
  /// The first one of the channel after `seq`; 0: there is none. Costs the number of those after it, unless `hint` is
  /// the number of one of its records at or before `seq`: then the number of those between the two.
  [[nodiscard]] std::uint64_t after(ChannelId channel, std::uint64_t seq, std::uint64_t hint) const noexcept;
  /// Records that after() has passed, in all its calls.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  /// Where a first visit begins that wants the last `count`: the number before the oldest of them.
  [[nodiscard]] std::uint64_t before_last(ChannelId channel, std::size_t count) const noexcept;

  /// The greatest number that the channel may have lost: what is above is in the log.
  [[nodiscard]] std::uint64_t dropped(ChannelId channel) const noexcept { return channels_[channel].dropped; }
  /// The oldest record that is indexed, if any; its number and its place.
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::uint64_t oldest() const noexcept { return oldest_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t channels() const noexcept { return names_.size(); }
  [[nodiscard]] std::string_view name(ChannelId channel) const noexcept { return *channels_[channel].name; }

 private:
  struct Channel {
    const std::string* name = nullptr;  // the key in names_
    std::uint64_t hash = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t dropped = 0;
    std::uint32_t kept = 0;
    bool live = false;
  };
  // 16 bytes a record. Places and neighbours are told by their distance, of which 32 bits suffice: of places counted in
  // words, up to a log of 32 GiB.
  struct Node {
    std::uint32_t place = 0;  // in words, the low bits
    ChannelId channel = kNobody;
    std::uint32_t to_next = 0;  // 0: it is the last one of its channel
    std::uint32_t to_previous = 0;
  };
  static constexpr ChannelId kNobody = ~ChannelId{0};
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>{}(name); }
  };

  [[nodiscard]] bool holds(std::uint64_t seq) const noexcept { return seq >= oldest_ && seq - oldest_ < size_; }
  [[nodiscard]] Node& node(std::uint64_t seq) noexcept { return nodes_[seq & (nodes_.size() - 1)]; }
  [[nodiscard]] const Node& node(std::uint64_t seq) const noexcept { return nodes_[seq & (nodes_.size() - 1)]; }
  Node& push(std::uint64_t seq, std::uint64_t position);
  void drop_front(std::size_t count);
  void forget_if_unused(ChannelId channel) noexcept;

  std::vector<Node> nodes_;  // a ring, by the number's low bits; its size is a power of two
  std::uint64_t oldest_ = 1;
  std::size_t size_ = 0;
  std::uint64_t oldest_place_ = 0;  // in words
  mutable std::uint64_t steps_ = 0;
  std::vector<Channel> channels_;
  std::vector<ChannelId> free_;
  std::unordered_map<std::string, ChannelId, Hash, std::equal_to<>> names_;
};

}  // namespace m0::pubsub
