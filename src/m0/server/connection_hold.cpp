// A connection whose answer is held: it carries what the registry's client writes and is sent, until its end.

#include <sys/epoll.h>

#include <utility>

#include "m0/base/bytes.hpp"
#include "m0/server/connection.hpp"

namespace m0::server {

void Connection::hold(const held::Admission& wanted) {
  if (wanted.switching.empty()) {
    session_->begin_answer(stream_, exchange_->response.head, std::nullopt, shared_.answers, false, exchange_->wire);
  } else {
    exchange_->wire += wanted.switching;
  }
  state_ = State::Held;
  shared_.sink.answered(*exchange_, exchange_->response.head.status, 0, true);
  transport_->expect_long_silence();
  held_ = shared_.held->open(*this, *exchange_, wanted, sender_.take_unsent(*exchange_));
  release_exchange();
  session_.reset();
  if (held_->listens()) {
    input_parked_ = true;  // what came with the request is the first of it
    queue_again();
  } else {
    base::free_room(leftover_);
    if (end_hinted_ || eof_) end(held::Ending::Cut);
  }
  update_interest();
}

void Connection::on_ready_held(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    output_blocked_ = false;
    held_->writable();
  }
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) read_held();
  if (state_ == State::Held) update_interest();
}

void Connection::read_held() {
  if (hold_ended_) return;
  if (!held_->wants_input()) {
    // A client that has ended its side will not be there for the next event; but one that speaks, and is not heard at
    // the moment, has something to say before that.
    if (held_->listens()) {
      input_parked_ = true;
    } else {
      close(false);
    }
    return;
  }
  const net::Moved moved = transport_->read({shared_.scratch.get(), LoopShared::kScratch});
  switch (moved.what) {
    case net::Moved::What::Some: take_in_held({shared_.scratch.get(), moved.bytes}); return;
    case net::Moved::What::WouldBlock: return;
    case net::Moved::What::Ended:
    case net::Moved::What::Gone: close(false); return;
  }
}

void Connection::hear_last_words() {
  // A Unix socket says that its peer is gone while there still is something to read.
  constexpr int kMostReads = 16;
  for (int reads = 0; reads < kMostReads && state_ == State::Held && held_->wants_input(); ++reads) {
    if (input_parked_) {
      go_on_held();
    } else {
      read_held();
    }
  }
}

void Connection::take_in_held(std::span<char> bytes) {
  const std::size_t used = held_->receive(bytes);
  if (used == bytes.size()) return;
  leftover_.assign(bytes.data() + used, bytes.size() - used);
  input_parked_ = true;
}

void Connection::go_on_held() {
  if (hold_ended_) {
    if (ends_orderly_) {
      close_after_answer();
    } else {
      close(false);
    }
    return;
  }
  if (input_parked_ && held_->wants_input()) {
    input_parked_ = false;
    if (leftover_.empty()) {
      read_held();
    } else {
      std::string bytes = std::exchange(leftover_, {});
      take_in_held(bytes);
    }
  }
  if (state_ == State::Held) update_interest();
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

void Connection::end(held::Ending how) noexcept {
  hold_ended_ = true;
  ends_orderly_ = how == held::Ending::Orderly;
  queue_again();
}

}  // namespace m0::server
