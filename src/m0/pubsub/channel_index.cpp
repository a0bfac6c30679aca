#include "m0/pubsub/channel_index.hpp"

#include <algorithm>

namespace m0::pubsub {
namespace {

constexpr std::size_t kFirstNodes = 64;

}  // namespace

ChannelId ChannelIndex::intern(std::string_view name, std::uint64_t hash, std::uint64_t dropped) {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  if (free_.empty()) {
    channels_.emplace_back();
    free_.reserve(channels_.capacity());  // so that giving one back needs no memory
    free_.push_back(static_cast<ChannelId>(channels_.size() - 1));
  }
  const ChannelId id = free_.back();
  const auto placed = names_.emplace(name, id).first;
  free_.pop_back();
  channels_[id] = {.name = &placed->first, .hash = hash, .dropped = dropped, .live = true};
  return id;
}

void ChannelIndex::release(ChannelId channel) noexcept {
  M0_CHECK(channels_[channel].kept > 0);
  --channels_[channel].kept;
  forget_if_unused(channel);
}

void ChannelIndex::forget_if_unused(ChannelId channel) noexcept {
  Channel& unused = channels_[channel];
  if (unused.kept != 0 || unused.first != 0) return;
  names_.erase(names_.find(*unused.name));
  unused = {};
  free_.push_back(channel);
}

ChannelIndex::Node& ChannelIndex::push(std::uint64_t seq, std::uint64_t position) {
  if (size_ == 0) {
    oldest_ = seq;
    oldest_place_ = position / 8;
  }
  M0_CHECK(seq == oldest_ + size_);
  if (size_ == nodes_.size()) {
    std::vector<Node> larger(std::max(kFirstNodes, nodes_.size() * 2));
    for (std::uint64_t at = oldest_; at != seq; ++at) larger[at & (larger.size() - 1)] = node(at);
    nodes_.swap(larger);
  }
  ++size_;
  return node(seq) = {.place = static_cast<std::uint32_t>(position / 8)};
}

void ChannelIndex::append(ChannelId channel, std::uint64_t seq, std::uint64_t position) {
  Node& added = push(seq, position);
  Channel& of = channels_[channel];
  added.channel = channel;
  if (of.last != 0) {
    added.to_previous = node(of.last).to_next = static_cast<std::uint32_t>(seq - of.last);
  } else {
    of.first = seq;
  }
  of.last = seq;
}

void ChannelIndex::append_unindexed(std::uint64_t seq, std::uint64_t position) { push(seq, position); }

void ChannelIndex::drop_before(std::uint64_t tail) {
  std::size_t count = 0;
  while (count < size_ && position(oldest_ + count) < tail) ++count;
  drop_front(count);
}

void ChannelIndex::drop_front(std::size_t count) {
  for (; count > 0; --count) {
    const Node dropped = node(oldest_);
    const std::uint64_t seq = oldest_;
    const std::uint64_t place = oldest_place_;
    ++oldest_;
    --size_;
    if (size_ > 0) oldest_place_ = place + static_cast<std::uint32_t>(node(oldest_).place - dropped.place);
    if (dropped.channel == kNobody) continue;
    Channel& of = channels_[dropped.channel];
    of.dropped = seq;
    of.first = dropped.to_next == 0 ? 0 : seq + dropped.to_next;
    if (of.first == 0) {
      of.last = 0;
      forget_if_unused(dropped.channel);
    } else {
      node(of.first).to_previous = 0;
    }
  }
}

std::uint64_t ChannelIndex::next(std::uint64_t seq) const noexcept {
  if (!holds(seq) || node(seq).to_next == 0) return 0;
  return seq + node(seq).to_next;
}

std::uint64_t ChannelIndex::previous(std::uint64_t seq) const noexcept {
  if (!holds(seq) || node(seq).to_previous == 0) return 0;
  return seq - node(seq).to_previous;
}

std::uint64_t ChannelIndex::position(std::uint64_t seq) const noexcept {
  M0_CHECK(holds(seq));
  return (oldest_place_ + static_cast<std::uint32_t>(node(seq).place - static_cast<std::uint32_t>(oldest_place_))) * 8;
}

std::uint64_t ChannelIndex::after(ChannelId channel, std::uint64_t seq, std::uint64_t hint) const noexcept {
  const Channel& of = channels_[channel];
  if (of.last <= seq) return 0;
  if (of.first > seq) return of.first;
  if (hint <= seq && holds(hint) && node(hint).channel == channel) {
    std::uint64_t at = hint;
    do {
      at = next(at);
      ++steps_;
    } while (at <= seq);
    return at;
  }
  std::uint64_t at = of.last;
  for (std::uint64_t before = previous(at); before > seq; before = previous(at)) {
    at = before;
    ++steps_;
  }
  return at;
}

std::uint64_t ChannelIndex::before_last(ChannelId channel, std::size_t count) const noexcept {
  std::uint64_t at = channels_[channel].last;
  if (at == 0 || count == 0) return at;
  for (; count > 1; --count) {
    const std::uint64_t before = previous(at);
    if (before == 0) break;
    at = before;
  }
  return at - 1;
}

}  // namespace m0::pubsub
