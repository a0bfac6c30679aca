#include "m0/pubsub/hub.hpp"

#include <algorithm>
#include <utility>

#include "m0/base/metric.hpp"

namespace m0::pubsub {
namespace {

using base::metric::Counter;

const Counter g_delivered("m0_events_delivered_total", "Events that were sent to a subscriber");
const Counter g_bytes("m0_event_bytes_total", "Bytes of events that were sent to subscribers");
const Counter g_gaps("m0_gaps_total", "Subscribers that were told that they missed something");
const Counter g_fell_out("m0_subscribers_fell_out_total", "Subscribers ended because they missed something");
const Counter g_slow("m0_slow_subscribers_total", "Times that a subscriber's socket was full");
const Counter g_overtaken("m0_log_overtaken_total", "Times that a worker's reader was overtaken by the log");
const Counter g_encoded("m0_frames_encoded_total", "Frames that were encoded");

}  // namespace

Hub::Hub(const EventLog& log, HubLimits limits, OnControl on_control)
    : log_(log), limits_(limits), on_control_(std::move(on_control)), position_(log.tail()) {}

// ---- who is there

ChannelId Hub::channel(std::string_view name, std::uint64_t hash) {
  const ChannelId id = index_.intern(name, hash, log_.dropped_mark(hash));
  if (id >= audiences_.size()) audiences_.resize(id + 1);
  return id;
}

void Hub::join(Subscriber& subscriber, const Encoding& encoding, std::span<const std::string_view> channels,
               std::uint64_t cursor) {
  thread_.check();
  M0_CHECK(!subscriber.joined());
  subscriber.subscriptions_ = std::make_unique<Subscription[]>(channels.size());
  subscriber.encoding_ = &encoding;
  subscriber.cursor_ = cursor;
  bool waits = false;
  for (const std::string_view name : channels) {
    const ChannelId id = channel(name, hash_channel(name));
    index_.keep(id);
    Audience& audience = audiences_[id];
    Subscription& subscription = subscriber.subscriptions_[subscriber.count_++];
    subscription = {.channel = id, .member = static_cast<std::uint32_t>(audience.members.size())};
    audience.members.push_back(&subscriber);
    // Whoever has all of the channel is told so: it need not look for its place in it again.
    if (index_.last(id) <= cursor) subscription.got = index_.last(id);
    waits = waits || index_.last(id) > cursor || index_.dropped(id) > cursor;
  }
  if (waits) ready_.push_back(subscriber);
}

void Hub::leave(Subscriber& subscriber) noexcept {
  thread_.check();
  for (std::size_t i = 0; i < subscriber.count_; ++i) {
    const Subscription& subscription = subscriber.subscriptions_[i];
    Audience& audience = audiences_[subscription.channel];
    Subscriber* const moved = audience.members.back();
    audience.members[subscription.member] = moved;
    for (std::size_t j = 0; j < moved->count_; ++j) {
      if (moved->subscriptions_[j].channel == subscription.channel) {
        moved->subscriptions_[j].member = subscription.member;
      }
    }
    audience.members.pop_back();
    // The one that took its place may not have been visited yet.
    if (audience.dirty) audience.remaining = audience.members.size();
    if (audience.members.empty()) std::vector<Subscriber*>().swap(audience.members);
    index_.release(subscription.channel);
  }
  subscriber.subscriptions_.reset();
  subscriber.count_ = 0;
  subscriber.encoding_ = nullptr;
  subscriber.barrier_ = Subscriber::kNone;
  subscriber.offset_ = 0;
  subscriber.blocked_ = subscriber.ended_ = subscriber.interrupts_ = false;
  subscriber.unlink();
}

std::uint64_t Hub::newest_got(const Subscriber& subscriber, const Subscription& subscription) const noexcept {
  const ChannelId id = subscription.channel;
  const std::uint64_t next = index_.after(id, std::max(subscriber.cursor_, subscription.got), subscription.got);
  return next == 0 ? index_.last(id) : index_.previous(next);
}

void Hub::replace(Subscriber& subscriber, std::span<const std::string_view> channels, std::uint64_t cursor) {
  thread_.check();
  M0_CHECK(subscriber.joined() && !subscriber.mid_frame());
  const Encoding& encoding = *subscriber.encoding_;
  const bool blocked = subscriber.blocked_;
  const std::uint64_t barrier = subscriber.barrier_;
  const std::uint64_t had = subscriber.cursor_;
  std::vector<Subscription> kept(subscriber.subscriptions_.get(), subscriber.subscriptions_.get() + subscriber.count_);
  for (Subscription& old : kept) {
    old.got = newest_got(subscriber, old);
    index_.keep(old.channel);  // so that its number is not given to another meanwhile
  }
  leave(subscriber);
  join(subscriber, encoding, channels, std::min(cursor, had));
  for (std::size_t i = 0; i < subscriber.count_; ++i) {
    Subscription& subscription = subscriber.subscriptions_[i];
    const auto old = std::ranges::find(kept, subscription.channel, &Subscription::channel);
    // Its cursor may be older than `cursor`: what another channel had in between is none of its.
    const std::uint64_t got = old == kept.end() ? cursor : old->got;
    subscription.got = std::max(subscription.got, got);
  }
  for (const Subscription& old : kept) index_.release(old.channel);
  subscriber.blocked_ = blocked;
  if (barrier != Subscriber::kNone) set_barrier(subscriber, barrier);
}

void Hub::set_barrier(Subscriber& subscriber, std::uint64_t seq) noexcept {
  thread_.check();
  subscriber.barrier_ = seq;
  if (!subscriber.blocked_ && !subscriber.ended_) ready_.push_back(subscriber);
}

void Hub::writable(Subscriber& subscriber) noexcept {
  subscriber.blocked_ = false;
  if (subscriber.joined() && !subscriber.ended_) ready_.push_back(subscriber);
}

EventId Hub::settled(Subscriber& subscriber) const noexcept {
  bool waits = subscriber.mid_frame();
  for (std::uint32_t i = 0; i < subscriber.count_ && !waits; ++i) {
    const ChannelId id = subscriber.subscriptions_[i].channel;
    waits = index_.last(id) > subscriber.cursor_ || index_.dropped(id) > subscriber.cursor_;
  }
  if (!waits) subscriber.cursor_ = std::max(subscriber.cursor_, read_seq_);
  return {log_.epoch(), subscriber.cursor_};
}

std::uint64_t Hub::before_last(std::string_view name, std::size_t count) {
  const ChannelId id = channel(name, hash_channel(name));
  index_.keep(id);
  const std::uint64_t begin = count == 0 || index_.last(id) == 0 ? read_seq_ : index_.before_last(id, count);
  index_.release(id);
  return begin;
}

std::size_t Hub::subscribers(std::string_view name) {
  const ChannelId id = channel(name, hash_channel(name));
  index_.keep(id);
  const std::size_t count = audiences_[id].members.size();
  index_.release(id);
  return count;
}

// ---- reading

void Hub::mark(ChannelId channel) {
  Audience& audience = audiences_[channel];
  if (audience.members.empty()) return;
  audience.remaining = audience.members.size();
  if (std::exchange(audience.dirty, true)) return;
  dirty_.push_back(channel);
}

void Hub::overtaken() {
  g_overtaken.add();
  orders_lost_ = orders_lost_ || log_.dropped_order() > read_seq_;
  index_.forget_all([this](std::uint64_t hash) { return log_.dropped_mark(hash); });
  position_ = log_.tail();
  for (ChannelId id = 0; id < audiences_.size(); ++id) mark(id);
}

bool Hub::read() {
  thread_.check();
  for (unsigned records = 0; records < limits_.records; ++records) {
    switch (log_.read_channel(position_, record_)) {
      case EventLog::Read::AtEnd: index_.drop_before(log_.tail()); return false;
      case EventLog::Read::Overwritten: overtaken(); continue;
      case EventLog::Read::Ok: break;
    }
    position_ = record_.next_position();
    read_seq_ = record_.seq();
    if (record_.control()) {
      index_.append_unindexed(record_.seq(), record_.position());
      if (on_control_) on_control_(record_);
      continue;
    }
    const ChannelId id = channel(record_.channel(), record_.channel_hash());
    index_.append(id, record_.seq(), record_.position());
    mark(id);
  }
  index_.drop_before(log_.tail());
  return behind();
}

// ---- sending

bool Hub::out_of_budget() noexcept {
  if (writes_ >= limits_.writes || visits_ >= limits_.visits) return true;
  return base::now() >= turn_end_;
}

bool Hub::flush() {
  thread_.check();
  if (ready_.empty() && dirty_.empty()) return false;  // nearly every turn of a server that only answers
  writes_ = visits_ = 0;
  turn_end_ = base::now() + limits_.time;
  while (!ready_.empty() || !dirty_.empty()) {
    if (out_of_budget()) return true;
    // In turns, so that neither those who come back nor those who are there starve the others.
    if (Subscriber* const next = ready_.pop_front(); next != nullptr) {
      if (serve(*next) == Served::More) ready_.push_back(*next);
    }
    if (!dirty_.empty()) visit_next(dirty_.front());
  }
  return false;
}

void Hub::visit_next(ChannelId channel) {
  Audience& audience = audiences_[channel];
  if (audience.remaining == 0 || audience.members.empty()) {
    audience.dirty = false;
    dirty_.pop_front();
    return;
  }
  if (audience.next >= audience.members.size()) audience.next = 0;
  Subscriber& subscriber = *audience.members[audience.next++];
  --audience.remaining;
  if (serve(subscriber) == Served::More) ready_.push_back(subscriber);
  // The next of several channels has its visit.
  if (dirty_.size() > 1) {
    dirty_.push_back(dirty_.front());
    dirty_.pop_front();
  }
}

Hub::Served Hub::serve(Subscriber& subscriber) {
  ++visits_;
  if (subscriber.ended_) return Served::Ended;
  if (subscriber.blocked_) return Served::Blocked;
  if (!gather(subscriber)) return Served::Ended;
  if (frames_.empty()) {
    if (subscriber.barrier_ == Subscriber::kNone) {
      subscriber.cursor_ = std::max(subscriber.cursor_, read_seq_);
      return Served::UpToDate;
    }
    subscriber.barrier_ = Subscriber::kNone;
    subscriber.at_barrier();
    return subscriber.ended_ ? Served::Ended : Served::More;
  }
  ++writes_;
  const Served served = account(subscriber, subscriber.take(std::string_view(batch_).substr(subscriber.offset_)));
  if (subscriber.interrupts_ && !subscriber.mid_frame() && !subscriber.ended_) {
    subscriber.interrupts_ = false;
    subscriber.interrupted();
    if (subscriber.ended_) return Served::Ended;
  }
  return served;
}

void Hub::load_got(const Subscriber& subscriber) {
  got_.resize(subscriber.count_);
  for (std::uint32_t i = 0; i < subscriber.count_; ++i) got_[i] = subscriber.subscriptions_[i].got;
}

void Hub::keep_got(Subscriber& subscriber) const noexcept {
  for (std::uint32_t i = 0; i < subscriber.count_; ++i) subscriber.subscriptions_[i].got = got_[i];
}

std::uint64_t Hub::next_of(const Subscriber& subscriber, std::uint64_t cursor, std::uint32_t& subscription) noexcept {
  std::uint64_t next = 0;
  for (std::uint32_t i = 0; i < subscriber.count_; ++i) {
    // Of a channel that it had when its channels were replaced it may have more than its cursor says.
    const std::uint64_t from = std::max(cursor, got_[i]);
    const std::uint64_t seq = index_.after(subscriber.subscriptions_[i].channel, from, got_[i]);
    if (seq == 0) continue;
    if (const std::uint64_t before = index_.previous(seq); before != 0) got_[i] = before;
    if (next != 0 && seq > next) continue;
    next = seq;
    subscription = i;
  }
  return next;
}

bool Hub::gather_gap(Subscriber& subscriber, std::uint64_t& cursor) {
  std::uint64_t lost = 0;
  for (std::uint32_t i = 0; i < subscriber.count_; ++i) {
    const Subscription& subscription = subscriber.subscriptions_[i];
    const std::uint64_t dropped = index_.dropped(subscription.channel);
    if (dropped > std::max(cursor, subscription.got)) lost = std::max(lost, dropped);
  }
  if (lost == 0) return true;
  // One gap for all of it: whatever is older than what is left.
  lost = std::max(lost, before_oldest());
  const std::uint64_t epoch = log_.epoch();
  if (subscriber.mid_frame() || !subscriber.encoding_->append_gap(batch_, {epoch, cursor}, {epoch, lost})) {
    return false;
  }
  frames_.push_back({lost, batch_.size(), kGap});
  cursor = lost;
  return true;
}

bool Hub::gather(Subscriber& subscriber) {
  batch_.clear();
  frames_.clear();
  std::uint64_t cursor = subscriber.cursor_;
  if (!gather_gap(subscriber, cursor)) {
    end(subscriber);
    return false;
  }
  load_got(subscriber);
  while (batch_.size() < limits_.bytes_per_write + subscriber.offset_) {
    std::uint32_t subscription = 0;
    const std::uint64_t seq = next_of(subscriber, cursor, subscription);
    if (cursor == subscriber.cursor_) keep_got(subscriber);  // also for one that takes nothing of what follows
    if (seq == 0 || seq > subscriber.barrier_) break;
    got_[subscription] = seq;
    const std::string* const bytes = frame(*subscriber.encoding_, seq);
    if (bytes == nullptr) {
      // It left the log just now; the index follows, and there is a gap.
      index_.drop_before(log_.tail());
      if (frames_.empty()) return gather(subscriber);
      break;
    }
    batch_ += *bytes;
    frames_.push_back({seq, batch_.size(), subscription});
    cursor = seq;
    if (subscriber.interrupts_ && subscriber.mid_frame()) break;
  }
  return true;
}

Hub::Served Hub::account(Subscriber& subscriber, const Taken& taken) {
  if (taken.gone) {
    subscriber.ended_ = true;
    return Served::Ended;
  }
  g_bytes.add(taken.bytes);
  const std::size_t sent = subscriber.offset_ + taken.bytes;
  std::size_t whole = 0;  // bytes in frames that are out
  std::size_t frames = 0;
  for (const Frame& frame : frames_) {
    if (frame.end > sent) break;
    whole = frame.end;
    ++frames;
    subscriber.cursor_ = frame.seq;
    if (frame.subscription == kGap) {
      g_gaps.add();
    } else {
      g_delivered.add();
      subscriber.subscriptions_[frame.subscription].got = frame.seq;
    }
  }
  subscriber.offset_ = static_cast<std::uint32_t>(sent - whole);
  if (sent == batch_.size()) {
    std::uint32_t ignored = 0;
    load_got(subscriber);
    if (subscriber.barrier_ != Subscriber::kNone) return Served::More;
    if (next_of(subscriber, subscriber.cursor_, ignored) != 0) return Served::More;
    subscriber.cursor_ = std::max(subscriber.cursor_, read_seq_);
    return Served::UpToDate;
  }
  if (subscriber.offset_ != 0 && frames_[frames].subscription == kGap) {
    // A gap is not an event that could be encoded again: what it tells moves on.
    end(subscriber);
    return Served::Ended;
  }
  g_slow.add();
  subscriber.blocked_ = true;
  return Served::Blocked;
}

void Hub::end(Subscriber& subscriber) noexcept {
  g_fell_out.add();
  subscriber.ended_ = true;
  subscriber.fell_out();
}

const std::string* Hub::frame(const Encoding& encoding, std::uint64_t seq) {
  Cached& cached = cache_[encoding.kind() * kCachedOfEach + seq % kCachedOfEach];
  for (Cached* const entry : {&cached, &large_}) {
    if (entry->seq == seq && entry->encoding == &encoding) return &entry->bytes;
  }
  if (log_.read(index_.position(seq), record_) != EventLog::Read::Ok) return nullptr;
  g_encoded.add();
  large_.bytes.clear();
  encoding.append(large_.bytes, {log_.epoch(), seq}, record_);
  large_.seq = seq;
  large_.encoding = &encoding;
  // Small ones stay; of large ones only the newest, so that the cache has a bound.
  if (large_.bytes.size() > kLargestCached) return &large_.bytes;
  std::swap(cached, large_);
  return &cached.bytes;
}

}  // namespace m0::pubsub
