#include "m0/held/mailroom.hpp"

namespace m0::held {

Inbox& Mailroom::open(Correspondent& client, const handler::Exchange& handshake, const handler::Hold& hold) {
  const base::SlotHandle handle = inboxes_.emplace(*this, client, handshake, hold);
  Inbox& inbox = *inboxes_.find(handle);
  inbox.handle_ = handle;
  return inbox;
}

Mailroom::Posted Mailroom::post(Inbox& inbox) {
  const bool close = inbox.waiting_.front().kind == Inbox::Kind::Close;
  if (close && closes_in_flight_ >= limits_.closes_at_once) {
    closing_.push_back(inbox);
    return Posted::Waits;
  }
  handler::Exchange* exchange = nullptr;
  if (office_.has_room(inbox.path())) {
    exchange = office_.take_exchange();
    const bool made = inbox.write_request(*exchange);
    const handler::Submitted said = made ? office_.post(*exchange) : handler::Submitted::Full;
    if (said != handler::Submitted::Full) {
      if (close) ++closes_in_flight_;
      inbox.with_view_ = exchange;
      return said == handler::Submitted::Queued ? Posted::Queued : Posted::Answered;
    }
    office_.discard(*exchange);
  }
  no_lane_.push_back(inbox);
  return Posted::Waits;
}

void Mailroom::turn() {
  for (const base::SlotHandle handle : dead_) inboxes_.erase(handle);
  dead_.clear();
  base::IntrusiveList<Inbox, QueueTag> now;
  resumed_.splice_to(now);
  while (Inbox* const inbox = now.pop_front()) inbox->pump();
  while (!closing_.empty() && closes_in_flight_ < limits_.closes_at_once) closing_.pop_front()->pump();
  const Inbox* first = nullptr;
  for (unsigned posts = 0; posts < limits_.posts_a_turn && !no_lane_.empty(); ++posts) {
    if (no_lane_.front() == first) break;  // once round
    Inbox* const next = no_lane_.pop_front();
    if (first == nullptr) first = next;
    next->pump();
  }
  while (!full() && !unread_.empty()) unread_.pop_front()->let_speak();
}

}  // namespace m0::held
