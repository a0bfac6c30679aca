// A connection whose answer is held: it carries what the registry's stream writes, and nothing else until its end.

#include <sys/epoll.h>

#include "m0/base/bytes.hpp"
#include "m0/server/connection.hpp"

namespace m0::server {

void Connection::hold(const handler::Hold& wanted) {
  session_->begin_answer(stream_, exchange_->response.head, std::nullopt, shared_.answers, false, exchange_->wire);
  state_ = State::Held;
  shared_.sink.answered(*exchange_, exchange_->response.head.status, 0, true);
  transport_->expect_long_silence();
  held_ = shared_.held->open(*this, *exchange_, wanted, sender_.take_unsent(*exchange_));
  release_exchange();
  session_.reset();
  base::free_room(leftover_);
  if (end_hinted_ || eof_) end();
  update_interest();
}

void Connection::on_ready_held(std::uint32_t events) {
  if ((events & EPOLLRDHUP) != 0) {  // a client that has ended its side will not be there for the next event
    close(false);
    return;
  }
  if ((events & EPOLLOUT) != 0) {
    output_blocked_ = false;
    held_->writable();
  }
  update_interest();
}

pubsub::Taken Connection::write(std::string_view bytes) noexcept {
  if (hold_ended_) return {0, true};
  const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  const net::Moved moved = transport_->write({&piece, 1}, false);
  if (moved.what == net::Moved::What::Gone) return {0, true};
  if (moved.bytes < bytes.size()) {
    output_blocked_ = true;
    update_interest();
  }
  return {moved.bytes, false};
}

void Connection::end() noexcept {
  hold_ended_ = true;
  queue_again();
}

}  // namespace m0::server
