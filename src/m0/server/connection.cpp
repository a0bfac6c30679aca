#include "m0/server/connection.hpp"

#include <sys/epoll.h>

#include <utility>

#include "m0/base/bytes.hpp"
#include "m0/base/check.hpp"
#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/handler/problem.hpp"
#include "m0/server/session_factory.hpp"

namespace m0::server {
namespace {

using base::metric::Counter;
using handler::ResponseBody;

static_assert(sizeof(Connection) <= 256, "a held connection's memory is a budget");

const Counter g_requests("m0_requests_total", "Requests whose head was read");
const Counter g_refused_protocol("m0_bad_requests_total", "Requests refused by the protocol or a limit of it");
const Counter g_idle_timeouts("m0_idle_timeouts_total", "Kept connections closed because no request came");
const Counter g_head_timeouts("m0_head_timeouts_total", "Requests whose head did not arrive in time");
const Counter g_body_timeouts("m0_body_timeouts_total", "Requests whose body stopped arriving");
const Counter g_write_timeouts("m0_write_timeouts_total", "Answers whose client stopped taking them");
const Counter g_queue_timeouts("m0_queue_timeouts_total", "Requests answered 503 because no thread took them in time");
const Counter g_linger_timeouts("m0_linger_timeouts_total", "Refused clients that kept sending too long");
const Counter g_vanished("m0_clients_vanished_total", "Connections that broke during a request");
const Counter g_incomplete("m0_incomplete_requests_total", "Clients that ended in the middle of a request");
const Counter g_silent_streams("m0_silent_streams_total", "Silent streams ended because the client had ended its side");
const Counter g_refused_streams("m0_refused_streams_total", "Streams of pool threads that were answered 409");
const Counter g_cut("m0_answers_cut_total", "Answers that ended before their end");

// Requests one connection may start in one turn before the others have theirs.
constexpr std::uint8_t kRequestsPerTurn = 16;

}  // namespace

Connection::Connection(LoopShared& shared, std::unique_ptr<net::Transport> transport, const handler::PeerAddress& peer,
                       const handler::ListenerInfo& listener)
    : shared_(shared),
      transport_(std::move(transport)),
      session_(make_session(shared.h1)),
      listener_(&listener),
      peer_(peer) {}

Connection::~Connection() { release_exchange(); }

bool Connection::open(base::SlotHandle self) {
  self_ = self;
  wait_for(Wait::Idle);
  try {
    shared_.loop.add(*this, transport_->fd(), EPOLLIN | EPOLLRDHUP);
    return true;
  } catch (const std::exception& failure) {
    base::log::warning("a connection was refused: {}", failure.what());
    close(false);
    return false;
  }
}

// ---- reading

void Connection::on_ready(std::uint32_t events) {
  if (state_ == State::Closed) return;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    // Both directions are over: nobody is there to be answered.
    if (state_ == State::Held && (events & EPOLLERR) == 0) hear_last_words();
    vanish();
    return;
  }
  if (state_ == State::Held) {
    on_ready_held(events);
    return;
  }
  if ((events & EPOLLOUT) != 0) {
    output_blocked_ = false;
    queue_write();
  }
  if ((events & EPOLLRDHUP) != 0) {
    end_hinted_ = true;
    if (exchange_ != nullptr) exchange_->peer_ended();
    if (state_ == State::Answering && wait_ == Wait::Nothing) wait_for(Wait::Silence);
  }
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) read_some();
  if (state_ != State::Closed) update_interest();
}

void Connection::read_some() {
  if (state_ == State::Lingering) {
    discard_some();
    return;
  }
  if (state_ != State::Reading || error_ || !leftover_.empty()) {
    // Level-triggered: not asked again until the answer is out. Its interest is dropped only now, when a client really
    // sends more (or ended): the usual client costs no change of interest.
    input_parked_ = true;
    return;
  }
  const net::Moved moved = transport_->read({shared_.scratch.get(), LoopShared::kScratch});
  switch (moved.what) {
    case net::Moved::What::Some: take_in({shared_.scratch.get(), moved.bytes}); return;
    case net::Moved::What::WouldBlock: return;
    case net::Moved::What::Ended: peer_ended(); return;
    case net::Moved::What::Gone: vanish(); return;
  }
}

void Connection::take_in(std::string_view bytes) {
  requests_this_turn_ = 0;
  std::size_t used = 0;
  while (used < bytes.size() && state_ == State::Reading && !error_ && requests_this_turn_ < kRequestsPerTurn) {
    receiving_ = true;
    used += session_->receive(bytes.substr(used), *this);
    receiving_ = false;
    if (due_ != Due::Nothing) {
      begin_answer(std::exchange(due_, Due::Nothing) == Due::Refusal);
      break;
    }
    if (session_->paused()) break;
  }
  if (state_ == State::Closed) return;
  if (state_ == State::Held) {
    // Of a handler on the loop: what came behind the request is the first that its client says.
    if (held_->listens()) leftover_.assign(bytes.substr(used));
    return;
  }
  if (used < bytes.size() && !error_) {
    leftover_.assign(bytes.substr(used));
    if (state_ == State::Reading) queue_again();  // its budget is used up
  }
  if (state_ != State::Reading || error_) return;
  if (exchange_ != nullptr) {
    wait_for(Wait::Body);
    if (session_->wants_continue()) {
      session_->append_continue(exchange_->wire);
      queue_write();
    }
  } else if (session_->mid_request()) {
    // From its first byte: a head that trickles in gets no new time.
    if (wait_ != Wait::Head) wait_for(Wait::Head);
  }
}

void Connection::go_on() {
  again_queued_ = false;
  if (state_ == State::Held) {
    go_on_held();
    return;
  }
  if (state_ != State::Reading) return;
  if (!leftover_.empty()) {
    std::string bytes;
    bytes.swap(leftover_);
    take_in(bytes);
  }
  if (state_ == State::Reading && leftover_.empty() && (input_parked_ || end_hinted_) && !error_) {
    input_parked_ = false;
    read_some();
  }
  if (state_ != State::Closed) update_interest();
}

void Connection::peer_ended() {
  eof_ = true;
  if (exchange_ != nullptr || session_->mid_request()) {
    g_incomplete.add();  // nobody waits for an answer to half a request
  }
  close(false);
}

void Connection::discard_some() {
  const net::Moved moved = transport_->read({shared_.scratch.get(), LoopShared::kScratch});
  if (moved.what == net::Moved::What::WouldBlock) return;
  discarded_ += moved.bytes;
  if (moved.what == net::Moved::What::Some && discarded_ < kLingerBytes &&
      !shared_.linger_in_all.expired(linger_since_, shared_.loop.now())) {
    wait_for(Wait::Linger);
    return;
  }
  close(false);
}

void Connection::vanish() {
  if (exchange_ != nullptr) {
    g_vanished.add();
    report_given_up();
  }
  close(false);
}

// ---- what the session says

void Connection::on_head(http::StreamId stream, const http::RequestHead& head) {
  g_requests.add();
  ++requests_this_turn_;
  stream_ = stream;
  exchange_ = shared_.exchanges.take();
  http::copy_head(head, exchange_->head_storage, exchange_->request);
  exchange_->peer = peer_;
  exchange_->listener = listener_;
  exchange_->connection = self_;
  exchange_->stream = stream;
  exchange_->arrived = shared_.loop.now();
  if (shared_.held != nullptr) {
    exchange_->log_position = shared_.held->arrival();
    exchange_->connection_id = shared_.held->next_connection();
  }
  // These say what the server itself found out about a request.
  for (const http::Field& field : head.fields) {
    if (!handler::is_own_field(field.name)) continue;
    on_protocol_error(stream, 400, "a field of the server's own");
    return;
  }
}

void Connection::on_body(http::StreamId, std::string_view bytes) {
  if (exchange_ == nullptr || state_ != State::Reading) return;  // refused already
  if (exchange_->body.append(bytes) != handler::BodyAppend::Ok) refuse(503, "5");
}

void Connection::on_request_end(http::StreamId) {
  if (state_ != State::Reading) return;
  exchange_->queued = shared_.loop.now();
  if (shared_.held != nullptr && held::Registry::was_dismissed(exchange_->request)) {
    exchange_->response.head.status = 204;
    exchange_->began = exchange_->finished = shared_.loop.now();
    begin_answer(false);
    return;
  }
  switch (shared_.sink.submit(*exchange_)) {
    case Submitted::Full: refuse(503, "1"); return;
    case Submitted::Answered:
      exchange_->finished = base::now();
      begin_answer(false);
      return;
    case Submitted::Queued:
      with_pool_ = true;
      state_ = State::Waiting;
      wait_for(exchange_->queue_deadline == base::Instant::max() ? Wait::Nothing : Wait::Queue);
      return;
  }
}

void Connection::give_up_waiting() {
  if (!exchange_->abandon_queued()) {
    wait_for(Wait::Nothing);  // it runs
    return;
  }
  g_queue_timeouts.add();
  // The pool keeps that one until a thread comes across it; the answer needs another.
  handler::Exchange& late = *exchange_;
  handler::Exchange& fresh = *shared_.exchanges.take();
  http::copy_head(late.request, fresh.head_storage, fresh.request);
  fresh.peer = late.peer;
  fresh.listener = late.listener;
  fresh.connection = late.connection;
  fresh.stream = late.stream;
  fresh.arrived = late.arrived;
  fresh.queued = late.queued;
  fresh.wire.swap(late.wire);  // an interim response may not be out yet, and the sender has counted it
  late.connection = {};
  exchange_ = &fresh;
  with_pool_ = false;
  refuse(503, "1");
}

void Connection::on_protocol_error(http::StreamId stream, int status, const char* why) {
  g_refused_protocol.add();
  base::log::debug("a request was refused with {}: {}", status, why);
  error_ = true;
  if (state_ != State::Reading) return;
  if (exchange_ == nullptr) {
    stream_ = stream;
    exchange_ = shared_.exchanges.take();
    exchange_->peer = peer_;
    exchange_->listener = listener_;
    exchange_->connection = self_;
    exchange_->arrived = exchange_->queued = shared_.loop.now();
  }
  refuse(status, nullptr);
}

void Connection::refuse(int status, const char* retry_after) {
  if (status == 503 && shared_.held != nullptr && held::Registry::asks_for_event_stream(exchange_->request)) {
    shared_.held->refuse(*exchange_);
    exchange_->began = exchange_->finished = shared_.loop.now();
    begin_answer(true);
    return;
  }
  handler::make_error_page(status, exchange_->response);
  if (retry_after != nullptr) exchange_->response.head.fields.add("Retry-After", retry_after);
  exchange_->began = exchange_->finished = shared_.loop.now();
  begin_answer(true);
}

// ---- answering

void Connection::on_notice(handler::Exchange::Seen seen) {
  if (seen.returned) with_pool_ = false;
  if (state_ == State::Waiting) {
    if (seen.phase == handler::Phase::Running) return;
    if (seen.returned) exchange_->finished = shared_.loop.now();
    begin_answer(false);
    return;
  }
  if (state_ != State::Answering) return;
  if (seen.returned) exchange_->finished = shared_.loop.now();
  queue_write();
}

void Connection::begin_answer(bool refused) {
  state_ = State::Answering;
  if (receiving_) {
    // An answer that ended while the session reads would let it read on, into the next request.
    due_ = refused ? Due::Refusal : Due::Answer;
    return;
  }
  wait_for(Wait::Nothing);
  // Where the refused request was read to its end the connection can go on.
  must_close_ = (refused && (error_ || !session_->paused())) || shared_.stopping;
  if (handler::refuse_stream(exchange_->answered_by, exchange_->response)) {
    g_refused_streams.add();
    base::log::warning("a pool handler answered {} with a stream, which only a LoopHandler can; it became a 409",
                       exchange_->request.path);
  }
  if (shared_.held != nullptr) {
    if (const auto wanted = shared_.held->admit(*exchange_)) {
      hold(*wanted);
      return;
    }
  }
  status_ = exchange_->response.head.status;
  sender_.begin(*exchange_, *session_, stream_, shared_.answers, must_close_);
  // HEAD, 204, 304, or refused just now: what the application streams is not wanted.
  if (with_pool_ && (!session_->answer_has_body() || exchange_->response.body.kind != ResponseBody::Kind::Window)) {
    exchange_->abandon();
  }
  queue_write();
}

void Connection::queue_again() {
  if (again_queued_) return;
  again_queued_ = true;
  shared_.again.push_back(self_);
}

void Connection::wait_for_room(bool progress) {
  output_blocked_ = true;
  if (progress || wait_ != Wait::Write) wait_for(Wait::Write);
  update_interest();
}

void Connection::report_given_up() {
  if (state_ == State::Answering) shared_.sink.answered(*exchange_, status_, sender_.body_bytes(), false);
}

void Connection::queue_write() {
  if (write_queued_ || output_blocked_) return;
  write_queued_ = true;
  shared_.to_write.push_back(this);
}

void Connection::write_out() {
  write_queued_ = false;
  if (state_ == State::Closed || exchange_ == nullptr) return;
  const bool answering = state_ == State::Answering;
  const Sent sent = answering ? sender_.send(*exchange_, *session_, stream_, *transport_, !with_pool_)
                              : sender_.send_interim(*exchange_, *transport_);
  switch (sent.what) {
    case Sent::What::All:
      if (answering) finish_answer();
      return;
    case Sent::What::Blocked: wait_for_room(sent.progress); return;
    case Sent::What::Gone: vanish(); return;
    case Sent::What::Cut: cut_answer(); return;
    case Sent::What::More: queue_write(); [[fallthrough]];
    case Sent::What::Starved:
      wait_for(end_hinted_ ? Wait::Silence : Wait::Nothing);
      update_interest();
      return;
  }
}

void Connection::finish_answer() {
  shared_.sink.answered(*exchange_, status_, sender_.body_bytes(), true);
  const bool keep = session_->keep_alive() && !must_close_ && !error_;
  release_exchange();
  if (!keep) {
    close_after_answer();
    return;
  }
  state_ = State::Reading;
  wait_for(Wait::Idle);
  if (!leftover_.empty() || input_parked_ || end_hinted_) queue_again();
  update_interest();
}

void Connection::cut_answer() {
  g_cut.add();
  report_given_up();
  // Where only the end of the connection delimits the body, an orderly end would pass for a complete answer.
  const ResponseBody& body = exchange_->response.body;
  if (exchange_->request.version == http::Version::Http10 && !body.declared.has_value() &&
      (body.kind == ResponseBody::Kind::Window || body.kind == ResponseBody::Kind::Stream)) {
    close(true);
    return;
  }
  release_exchange();
  close_after_answer();
}

// ---- ending

void Connection::close_after_answer() {
  // Closing a socket with unread input resets it, and the reset may overtake the answer: send our end, then read the
  // peer's.
  transport_->shutdown_write();
  if (eof_) {
    close(false);
    return;
  }
  state_ = State::Lingering;
  held_.reset();
  discarded_ = 0;
  base::free_room(leftover_);
  input_parked_ = output_blocked_ = false;
  linger_since_ = shared_.linger_in_all.stamp(shared_.loop.now());
  wait_for(Wait::Linger);
  update_interest();
}

void Connection::close(bool reset) {
  if (state_ == State::Closed) return;
  state_ = State::Closed;
  release_exchange();
  held_.reset();
  shared_.loop.remove(*this);
  transport_->close(reset);
  shared_.to_reap.push_back(this);
}

void Connection::release_exchange() {
  if (exchange_ == nullptr) return;
  if (with_pool_) {
    // It comes back through the completion list, finds no connection, and is freed there.
    exchange_->connection = {};
    exchange_->abandon();
    with_pool_ = false;
  } else {
    shared_.exchanges.give_back(exchange_);
  }
  exchange_ = nullptr;
}

void Connection::stop() {
  if (state_ == State::Closed || state_ == State::Lingering) return;
  must_close_ = true;
  if (state_ != State::Reading || exchange_ != nullptr) return;
  // A request may have arrived in this very moment: it is served.
  if (leftover_.empty() && !error_) read_some();
  if (state_ == State::Reading && exchange_ == nullptr && !session_->mid_request() && leftover_.empty()) close(false);
}

void Connection::cut() {
  if (state_ == State::Closed) return;
  report_given_up();
  close(false);
}

void Connection::sweep(base::Instant now) {
  if (state_ == State::Closed || wait_ == Wait::Nothing) return;
  if (wait_ == Wait::Queue) {
    if (now >= exchange_->queue_deadline) give_up_waiting();
    return;
  }
  if (!shared_.clocks[static_cast<std::size_t>(wait_)].expired(since_, now)) return;
  switch (wait_) {
    case Wait::Nothing:
    case Wait::Queue: return;
    case Wait::Idle:
      g_idle_timeouts.add();
      close(false);
      return;
    case Wait::Head:
      g_head_timeouts.add();
      on_protocol_error(stream_, 408, "the head took too long");
      return;
    case Wait::Body:
      g_body_timeouts.add();
      error_ = true;
      refuse(408, nullptr);
      return;
    case Wait::Write:
      g_write_timeouts.add();
      report_given_up();
      close(true);
      return;
    case Wait::Linger:
      g_linger_timeouts.add();
      close(false);
      return;
    case Wait::Silence:
      g_silent_streams.add();
      vanish();
      return;
  }
}

void Connection::wait_for(Wait what) noexcept {
  wait_ = what;
  if (what != Wait::Nothing) since_ = shared_.clocks[static_cast<std::size_t>(what)].stamp(shared_.loop.now());
}

void Connection::update_interest() {
  std::uint32_t events = 0;
  if (state_ == State::Held) {
    // The end of a client that is not read comes behind what it has said.
    const bool wanted = held_ != nullptr && held_->wants_input();  // null: its first bytes are on their way
    if (!input_parked_) events = EPOLLRDHUP | (wanted ? EPOLLIN : 0U);
    if (output_blocked_) events |= EPOLLOUT;
    shared_.loop.want(*this, events);
    return;
  }
  const bool reading = !eof_ && (state_ == State::Lingering || (!input_parked_ && !error_));
  if (reading) events |= EPOLLIN;
  if (reading && !end_hinted_) events |= EPOLLRDHUP;
  if (output_blocked_) events |= EPOLLOUT;
  shared_.loop.want(*this, events);
}

}  // namespace m0::server
