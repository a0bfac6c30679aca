#pragma once
// What the connections of one loop share.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "m0/base/slot_map.hpp"
#include "m0/handler/exchange.hpp"
#include "m0/handler/post_office.hpp"
#include "m0/held/registry.hpp"
#include "m0/http/h1_session.hpp"
#include "m0/net/event_loop.hpp"
#include "m0/net/timers.hpp"
#include "m0/server/config.hpp"
#include "m0/server/exchange_pool.hpp"

namespace m0::server {

class Connection;

/// What a connection can be waiting for too long.
enum class Wait : std::uint8_t {
  Nothing,
  Idle,     // for a request, on a kept connection or a new one
  Head,     // for the rest of a head
  Body,     // for more of a body
  Write,    // for the client to take more of an answer
  Linger,   // for the client's end after ours
  Silence,  // for a streaming application to say something to a client that has ended its side
  Queue,    // for a thread; how long is the lane's to say
};
inline constexpr std::size_t kWaits = 8;

/// A client that still sends after a refusal is read, so that it sees the answer: until it is quiet for the first of
/// these times, for the second in all, and for so many bytes.
inline constexpr base::Duration kLingerQuiet = std::chrono::seconds(1);
inline constexpr base::Duration kLingerTime = std::chrono::seconds(10);
inline constexpr std::uint64_t kLingerBytes = 256ULL << 20;

using handler::Submitted;

/// Takes complete requests; the loop's side of the pool.
class RequestSink {
 public:
  [[nodiscard]] virtual Submitted submit(handler::Exchange& exchange) = 0;
  /// An answer has been sent, or given up (`complete` false).
  virtual void answered(const handler::Exchange& exchange, int status, std::uint64_t body_bytes, bool complete) = 0;

 protected:
  ~RequestSink() = default;
};

/// The loop's thread.
struct LoopShared {
  LoopShared(net::EventLoop& event_loop, const Config& settings, RequestSink& requests);

  /// Refreshes the Date once a second; from the top of a turn.
  void refresh_date();

  net::EventLoop& loop;
  const Config& config;
  RequestSink& sink;
  http::H1Context h1;
  handler::BodyBudget bodies;
  ExchangePool exchanges;
  base::SlotMap<Connection> connections;
  std::array<net::TickClock, kWaits> clocks;
  net::TickClock linger_in_all{kLingerTime};
  std::unique_ptr<char[]> scratch;  // one read at a time lands here
  static constexpr std::size_t kScratch = 64 * 1024;

  held::Registry* held = nullptr;  // null: nothing is held here

  http::AnswerContext answers;
  bool stopping = false;

  /// A deadline nearer than the one the loop knows of; it takes the nearest of the turn.
  void timer_wanted(base::Instant at) noexcept { nearest_timer = std::min(nearest_timer, at); }
  base::Instant nearest_timer{};

  // Work of this turn; pointers live until reap.
  std::vector<Connection*> to_write;
  std::vector<Connection*> to_reap;
  // Work of the next turn.
  std::vector<base::SlotHandle> again;

 private:
  std::string date_;
  std::int64_t date_second_ = 0;
};

}  // namespace m0::server
