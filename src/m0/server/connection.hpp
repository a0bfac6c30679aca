#pragma once
// One client: from its socket through its session to an exchange, and back.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "m0/base/slot_map.hpp"
#include "m0/handler/exchange.hpp"
#include "m0/held/admission.hpp"
#include "m0/held/client.hpp"
#include "m0/held/wire.hpp"
#include "m0/http/h1_session.hpp"
#include "m0/http/session.hpp"
#include "m0/net/event_loop.hpp"
#include "m0/net/transport.hpp"
#include "m0/server/answer_sender.hpp"
#include "m0/server/loop_shared.hpp"

namespace m0::server {

/// The loop's thread. Lives in LoopShared::connections; closing marks it, the end of the turn destroys it.
class Connection final : public net::Watched, private http::SessionEvents, private held::Wire {
 public:
  Connection(LoopShared& shared, std::unique_ptr<net::Transport> transport, const handler::PeerAddress& peer,
             const handler::ListenerInfo& listener);
  ~Connection();

  /// Once, right after it was placed. False: the kernel cannot watch one more; it is closed.
  [[nodiscard]] bool open(base::SlotHandle self);

  void on_ready(std::uint32_t events) override;
  /// From the again list: bytes are left that came with an earlier request.
  void go_on();
  /// Its exchange came back, or has something to stream.
  void on_notice(handler::Exchange::Seen seen);
  /// Step 5 of the turn.
  void write_out();
  /// Ends it if it has waited too long.
  void sweep(base::Instant now);
  /// The server stops: an idle connection is closed, any other closes after its answer.
  void stop();
  /// The graceful time is over: whatever goes on is cut.
  void cut();

  [[nodiscard]] bool closed() const noexcept { return state_ == State::Closed; }
  [[nodiscard]] const handler::Exchange* exchange() const noexcept { return exchange_; }
  [[nodiscard]] base::SlotHandle handle() const noexcept { return self_; }

 private:
  enum class State : std::uint8_t {
    Reading,    // a request is awaited or arriving
    Waiting,    // a complete request is with the pool
    Answering,  // an answer was begun
    Held,       // its answer is an event stream or a WebSocket, which the registry feeds
    Lingering,  // our end was sent, the peer's is awaited
    Closed,
  };

  /// What is to be answered as soon as the session has returned.
  enum class Due : std::uint8_t { Nothing, Answer, Refusal };

  void on_head(http::StreamId stream, const http::RequestHead& head) override;
  void on_body(http::StreamId stream, std::string_view bytes) override;
  void on_request_end(http::StreamId stream) override;
  void on_protocol_error(http::StreamId stream, int status, const char* why) override;

  // held::Wire
  [[nodiscard]] pubsub::Taken write(std::string_view bytes) noexcept override;
  void end(held::Ending how) noexcept override;
  void read_on() noexcept override { queue_again(); }

  void read_some();
  void take_in(std::string_view bytes);
  void discard_some();
  void peer_ended();
  void vanish();

  /// Its lane has had it for too long.
  void give_up_waiting();
  void refuse(int status, const char* retry_after);
  /// The exchange has its response. `refused`: it is ours, and may come before the request has been read.
  void begin_answer(bool refused);
  /// The answer is a hold: from here on its connection carries nothing else.
  void hold(const held::Admission& wanted);
  void on_ready_held(std::uint32_t events);
  void read_held();
  void hear_last_words();
  void take_in_held(std::span<char> bytes);
  void go_on_held();
  void queue_write();
  void queue_again();
  /// The socket takes no more at the moment; `progress`: it took something.
  void wait_for_room(bool progress);
  /// The sink is told of an answer that was begun and will not end.
  void report_given_up();
  void finish_answer();
  void cut_answer();

  void close_after_answer();
  void close(bool reset);
  void release_exchange();
  void wait_for(Wait what) noexcept;
  void update_interest();

  LoopShared& shared_;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<http::Session> session_;
  handler::Exchange* exchange_ = nullptr;
  std::unique_ptr<held::Client> held_;
  const handler::ListenerInfo* listener_;
  std::string leftover_;         // bytes that came with the request being answered
  std::uint64_t discarded_ = 0;  // while lingering
  AnswerSender sender_;
  std::int32_t status_ = 0;
  http::StreamId stream_ = 0;
  base::SlotHandle self_;
  handler::PeerAddress peer_;
  State state_ = State::Reading;
  Wait wait_ = Wait::Idle;
  Due due_ = Due::Nothing;
  std::uint8_t since_ = 0;
  std::uint8_t linger_since_ = 0;
  std::uint8_t requests_this_turn_ = 0;
  bool receiving_ : 1 = false;       // inside the session's receive()
  bool with_pool_ : 1 = false;       // the exchange belongs to the pool at the moment
  bool must_close_ : 1 = false;      // after this answer
  bool error_ : 1 = false;           // the session reads no more
  bool eof_ : 1 = false;             // the peer's end was read
  bool end_hinted_ : 1 = false;      // epoll said that the peer's end has arrived; bytes may come before it
  bool input_parked_ : 1 = false;    // there is something to read, but a request is being answered
  bool output_blocked_ : 1 = false;  // the socket takes no more at the moment
  bool write_queued_ : 1 = false;
  bool again_queued_ : 1 = false;
  bool hold_ended_ : 1 = false;    // to be closed when its turn comes
  bool ends_orderly_ : 1 = false;  // and how
};

}  // namespace m0::server
