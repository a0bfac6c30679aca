#pragma once
// One worker's reader of the log, and who of its connections wants what.
//
// Everything that a subscriber has not got goes out in one write, and after a bounded number of writes the loop polls
// again: what is published meanwhile joins the sweep. A sweep goes round a channel's subscribers until as many were
// visited since the newest event as there are; so an event costs nothing by itself, only visits do.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "m0/base/check.hpp"
#include "m0/base/clock.hpp"
#include "m0/base/intrusive_list.hpp"
#include "m0/pubsub/channel_index.hpp"
#include "m0/pubsub/event_log.hpp"
#include "m0/pubsub/subscriber.hpp"

namespace m0::pubsub {

/// What one turn of the loop may take.
struct HubLimits {
  unsigned writes = 64;
  unsigned visits = 4096;  // subscribers looked at, whether or not there was something to write
  base::Duration time = std::chrono::milliseconds(2);
  std::size_t bytes_per_write = std::size_t{64} * 1024;
  unsigned records = 4096;  // read
};

/// The loop's thread.
class Hub {
 public:
  /// Called for each control record, as it is read.
  using OnControl = std::function<void(const Record&)>;

  explicit Hub(const EventLog& log, HubLimits limits = {}, OnControl on_control = {});
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  /// From now on it gets what is published to these channels (each once, at most 65,535) after number `cursor`.
  void join(Subscriber& subscriber, const Encoding& encoding, std::span<const std::string_view> channels,
            std::uint64_t cursor);
  void leave(Subscriber& subscriber) noexcept;
  /// From now on it gets these channels: of one that it had what it has not got, of another what is after `cursor`. Not
  /// while it has a part of a frame.
  void replace(Subscriber& subscriber, std::span<const std::string_view> channels, std::uint64_t cursor);
  /// It gets what was published before number `seq`, and is then told so (Subscriber::at_barrier).
  void set_barrier(Subscriber& subscriber, std::uint64_t seq) noexcept;
  /// It gets nothing more, until it leaves.
  void silence(Subscriber& subscriber) noexcept { subscriber.ended_ = true; }
  /// Its socket takes more.
  void writable(Subscriber& subscriber) noexcept;

  /// Takes in what is new in the log. True: there is more.
  bool read();
  /// Sends. True: there is more to send, at once.
  bool flush();
  /// Whether control records were lost since it was asked last, because the log was faster than this reader.
  [[nodiscard]] bool take_orders_lost() noexcept { return std::exchange(orders_lost_, false); }
  /// Whether the log holds something that was not read: to be looked at after announcing a sleep.
  [[nodiscard]] bool behind() const noexcept { return log_.head() != position_; }

  /// The number before the oldest that is left: where somebody begins who wants everything.
  [[nodiscard]] std::uint64_t before_oldest() const noexcept {
    return index_.empty() ? read_seq_ : index_.oldest() - 1;
  }
  /// Where somebody begins who wants the last `count` of a channel.
  [[nodiscard]] std::uint64_t before_last(std::string_view channel, std::size_t count);
  [[nodiscard]] std::uint64_t read_seq() const noexcept { return read_seq_; }
  /// The newest number up to which it has got everything: what it may be told to come back with.
  [[nodiscard]] EventId settled(Subscriber& subscriber) const noexcept;
  [[nodiscard]] std::size_t subscribers(std::string_view channel);
  /// Calls visit(subscriber) for each that has the channel; the visitor may silence it.
  template <class Visit>
  void for_each_subscriber(std::string_view name, Visit&& visit) {
    const ChannelId* const id = index_.find(name);
    if (id == nullptr || *id >= audiences_.size()) return;
    for (Subscriber* const subscriber : audiences_[*id].members) visit(*subscriber);
  }
  /// Calls visit(name) for each channel that it has, in the order in which it joined them.
  template <class Visit>
  void for_each_channel(const Subscriber& subscriber, Visit&& visit) const {
    for (std::uint32_t i = 0; i < subscriber.count_; ++i) visit(index_.name(subscriber.subscriptions_[i].channel));
  }
  /// Records of the index that were passed on the way to what subscribers wanted.
  [[nodiscard]] std::uint64_t steps() const noexcept { return index_.steps(); }

 private:
  enum class Served : std::uint8_t { UpToDate, More, Blocked, Ended };
  struct Audience {
    std::vector<Subscriber*> members;
    std::size_t next = 0;       // of the sweep
    std::size_t remaining = 0;  // visits until nobody can have missed the newest event
    bool dirty = false;
  };
  struct Frame {
    std::uint64_t seq;
    std::size_t end;             // in batch_
    std::uint32_t subscription;  // of the subscriber
  };
  struct Cached {
    std::uint64_t seq = 0;
    const Encoding* encoding = nullptr;
    std::string bytes;
  };
  static constexpr std::uint32_t kGap = ~std::uint32_t{0};
  static constexpr std::size_t kCachedOfEach = 256;
  static constexpr std::size_t kLargestCached = std::size_t{4} * 1024;

  [[nodiscard]] ChannelId channel(std::string_view name, std::uint64_t hash);
  /// The newest of a channel, of those that were read, that it has; 0: none.
  [[nodiscard]] std::uint64_t newest_got(const Subscriber& subscriber, const Subscription& subscription) const noexcept;
  void mark(ChannelId channel);
  void overtaken();

  [[nodiscard]] bool out_of_budget() noexcept;
  void visit_next(ChannelId channel);
  Served serve(Subscriber& subscriber);
  /// Fills batch_ and frames_. False: it fell out.
  [[nodiscard]] bool gather(Subscriber& subscriber);
  [[nodiscard]] bool gather_gap(Subscriber& subscriber, std::uint64_t& cursor);
  Served account(Subscriber& subscriber, const Taken& taken);
  void end(Subscriber& subscriber) noexcept;
  /// The next event that it wants after `cursor`, and of which of its subscriptions; 0: none. Begins at got_, and
  /// moves them up to the cursor: a client that comes back costs one walk over what it has not got, not one a frame.
  [[nodiscard]] std::uint64_t next_of(const Subscriber& subscriber, std::uint64_t cursor,
                                      std::uint32_t& subscription) noexcept;
  void load_got(const Subscriber& subscriber);
  void keep_got(Subscriber& subscriber) const noexcept;
  /// Nothing: the record has just left the log.
  [[nodiscard]] const std::string* frame(const Encoding& encoding, std::uint64_t seq);

  base::ThreadChecker thread_;
  const EventLog& log_;
  const HubLimits limits_;
  const OnControl on_control_;
  ChannelIndex index_;
  std::vector<Audience> audiences_;        // by channel
  std::deque<ChannelId> dirty_;            // those whose sweep is not over
  base::IntrusiveList<Subscriber> ready_;  // those that have something to get besides
  std::uint64_t position_;                 // of the next record to read
  std::uint64_t read_seq_ = 0;             // of the last that was read
  bool orders_lost_ = false;
  Record record_;
  // The turn's.
  base::Instant turn_end_{};
  unsigned writes_ = 0;
  unsigned visits_ = 0;
  // One subscriber's.
  std::string batch_;
  std::vector<Frame> frames_;
  std::vector<std::uint64_t> got_;  // of its subscriptions, for the cursor that the batch has come to
  std::array<Cached, kCachedOfEach * Encoding::kKinds> cache_;  // by kind and number
  Cached large_;
};

}  // namespace m0::pubsub
