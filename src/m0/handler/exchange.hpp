#pragma once
// One request and its answer, from the loop through a pool thread and back. The only object that travels.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "m0/base/clock.hpp"
#include "m0/base/slot_map.hpp"
#include "m0/handler/body_store.hpp"
#include "m0/handler/body_window.hpp"
#include "m0/handler/response.hpp"
#include "m0/handler/stream_gate.hpp"
#include "m0/http/request_head.hpp"
#include "m0/http/session.hpp"
#include "m0/pool/completion_list.hpp"
#include "m0/pubsub/connection_id.hpp"

namespace m0::handler {

/// Where a request came in. Lives as long as the worker.
struct ListenerInfo {
  std::string server_name;  // the host of --bind; for a Unix socket its path
  std::string server_port;  // decimal; empty for a Unix socket
  bool unix_socket = false;
};

/// The peer of a connection, compact.
struct PeerAddress {
  enum class Family : std::uint8_t { None, V4, V6 };
  std::array<std::uint8_t, 16> bytes{};  // network order; V4 in the first four
  std::uint16_t port = 0;
  Family family = Family::None;  // None: a Unix socket
  friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

/// Where an Exchange is. From Queued until it comes back (Done, or Abandoned and returned) the pool owns its memory.
enum class Phase : std::uint8_t {
  Gathering,  // on the loop: its body is still arriving
  Queued,
  Running,
  Streaming,  // the answer's head is ready and its window is being filled
  Done,
  Abandoned,  // the loop wants no answer (client gone, timeout, stop)
};

class ExchangeOwner;

/// Loop thread and pool thread take turns; what either may call, and when, is said at each member.
class Exchange final : public pool::CompletionNode {
 public:
  explicit Exchange(BodyBudget& budget) : body(budget) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // -- the request: written by the loop before submit, then read by the pool thread only
  http::RequestHead request;
  std::string head_storage;  // what the views of `request` point into
  BodyStore body;
  PeerAddress peer;
  const ListenerInfo* listener = nullptr;
  std::uint16_t target = 0;        // which part of the application is asked
  std::uint32_t mount_length = 0;  // bytes of request.path that name the mount; what follows is the part's own

  // -- who asked: the loop's
  base::SlotHandle connection;
  ExchangeOwner* owner = nullptr;  // where it is not a connection that waits for it
  http::StreamId stream = 0;

  /// Its place among those of its worker; the loop's.
  std::size_t pool_index = 0;

  /// When the loop gives it up if it still waits for a thread; the loop's.
  base::Instant queue_deadline = base::Instant::max();

  /// The newest event when the head was complete: a hold starts there.
  std::uint64_t log_position = 0;
  /// What its connection is called, or will be if it is held.
  pubsub::ConnectionId connection_id;

  /// Framed bytes of the answer that were not sent yet: the loop's.
  std::string wire;

  // -- when: arrived and queued by the loop, began and finished by the pool thread
  base::Instant arrived{};
  base::Instant queued{};
  base::Instant began{};
  base::Instant finished{};

  // -- the answer: written by the pool thread until it hands over (start_streaming or finish), then the loop's
  Response response;
  std::unique_ptr<BodyWindow> window;
  AnsweredBy answered_by = AnsweredBy::Pool;
  /// The pool thread ended a Window answer before its end: the connection is cut without a last chunk.
  bool aborted = false;

  // -- pool thread
  /// Queued -> Running. False: the client is gone, do not run it; hand it back with finish().
  [[nodiscard]] bool start() noexcept;
  /// The loop gave up on this exchange. Cheap; a long handler may ask at any time.
  [[nodiscard]] bool abandoned() const noexcept {
    return phase_of(word_.load(std::memory_order_acquire)) == Phase::Abandoned;
  }
  /// The client is gone, or has ended its side of the connection (which a client that merely half-closed does too: it
  /// still gets the answer).
  [[nodiscard]] bool client_left() const noexcept { return peer_ended_.load(std::memory_order_relaxed) || abandoned(); }
  /// Running -> Streaming: the head is ready, the window exists. False: abandoned. When true is returned the caller
  /// must notify().
  [[nodiscard]] bool start_streaming() noexcept;
  /// Whether this exchange must be pushed on the completion list now for the loop to look at it (it is not there yet).
  [[nodiscard]] bool notify() noexcept;
  /// The last thing a pool thread does with it. Returns whether it must be pushed on the completion list (true), or is
  /// there already (false); after false, and after the push, the exchange is not touched.
  [[nodiscard]] bool finish() noexcept;

  // -- loop
  void submit() noexcept;
  /// The lane was full: Queued -> Gathering. The pool has not seen it.
  void withdraw() noexcept;
  /// The peer sent its end; see client_left().
  void peer_ended() noexcept { peer_ended_.store(true, std::memory_order_relaxed); }
  /// Queued -> Abandoned. False: a thread has it already.
  [[nodiscard]] bool abandon_queued() noexcept;
  /// Any phase in the pool -> Abandoned; wakes a producer that waits for room.
  void abandon() noexcept;
  /// It was taken from the completion list: clears the mark and says where it is, and whether the pool let go of it.
  struct Seen {
    Phase phase;
    bool returned;
  };
  [[nodiscard]] Seen take_notice() noexcept;
  [[nodiscard]] Phase phase() const noexcept { return phase_of(word_.load(std::memory_order_acquire)); }
  /// Back to Gathering with all room kept, for the next request. Only when the pool does not have it.
  void reset() noexcept;

 private:
  // One word: the phase in the low bits, kInList while it is on the completion list, kReturned once the pool let go.
  static constexpr std::uint32_t kPhaseMask = 0xff;
  static constexpr std::uint32_t kInList = 0x100;
  static constexpr std::uint32_t kReturned = 0x200;
  /// False: it is not in `from`, and stays where it is.
  [[nodiscard]] bool move(Phase from, Phase to) noexcept;
  static constexpr Phase phase_of(std::uint32_t word) noexcept { return static_cast<Phase>(word & kPhaseMask); }

  std::atomic<std::uint32_t> word_{static_cast<std::uint32_t>(Phase::Gathering)};
  std::atomic<bool> peer_ended_{false};
};

}  // namespace m0::handler
