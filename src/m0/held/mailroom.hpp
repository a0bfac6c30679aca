#pragma once
// The messages of all held clients of one loop, on their way to the views.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "m0/base/intrusive_list.hpp"
#include "m0/base/slot_map.hpp"
#include "m0/handler/post_office.hpp"
#include "m0/held/inbox.hpp"

namespace m0::held {

/// The loop. Owns the inboxes, which live until their last message was answered, also when their client is gone.
class Mailroom {
 public:
  struct Limits {
    std::size_t max_message = std::size_t{1} << 20U;     // bytes of an answer's frame
    std::size_t waiting_bytes = std::size_t{64} << 20U;  // of all messages that wait: at more no socket is read
    std::size_t closes_at_once = 1;  // "close" events with the pool: a mass disconnect leaves threads for pages
    unsigned posts_a_turn = 64;      // of those that wait for room in a lane
  };
  Mailroom(handler::PostOffice& office, const Limits& limits) noexcept : office_(office), limits_(limits) {}
  Mailroom(const Mailroom&) = delete;
  Mailroom& operator=(const Mailroom&) = delete;

  /// For a client that was held just now, after this request and with these wishes.
  Inbox& open(Correspondent& client, const handler::Exchange& handshake, const handler::Hold& hold);

  /// Posts what had to wait. Each turn.
  void turn();
  /// It wants another turn at once.
  [[nodiscard]] bool has_more() const noexcept { return !resumed_.empty(); }
  /// Nothing waits, and nothing is with a view.
  [[nodiscard]] bool idle() const noexcept { return busy_ == 0; }

 private:
  friend class Inbox;
  enum class Posted : std::uint8_t { Queued, Answered, Waits };

  /// The first message of an inbox goes to its view, or the inbox waits.
  [[nodiscard]] Posted post(Inbox& inbox);
  [[nodiscard]] bool full() const noexcept { return waiting_bytes_ >= limits_.waiting_bytes; }
  /// Its next message is posted in the next turn.
  void resume(Inbox& inbox) noexcept { resumed_.push_back(inbox); }
  /// It is not needed any more; destroyed in the next turn.
  void bury(Inbox& inbox) { dead_.push_back(inbox.handle_); }

  handler::PostOffice& office_;
  const Limits limits_;
  std::size_t waiting_bytes_ = 0;
  std::size_t closes_in_flight_ = 0;
  std::size_t busy_ = 0;                          // inboxes with something in them
  base::IntrusiveList<Inbox, QueueTag> no_lane_;  // whose lane was full
  base::IntrusiveList<Inbox, QueueTag> closing_;  // whose next event is a close, while enough of those are under way
  base::IntrusiveList<Inbox, QueueTag> resumed_;  // whose client has taken its answer
  base::IntrusiveList<Inbox, UnreadTag> unread_;  // whose client is not read because too much waits in all
  std::vector<base::SlotHandle> dead_;
  base::SlotMap<Inbox> inboxes_;
};

}  // namespace m0::held
