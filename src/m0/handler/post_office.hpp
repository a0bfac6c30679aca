#pragma once
// Requests that no client sent as such: what held clients say becomes a POST to the path that held them.

#include <cstdint>
#include <string_view>

#include "m0/handler/exchange.hpp"

namespace m0::handler {

/// What became of a complete request.
enum class Submitted : std::uint8_t {
  Queued,    // the pool has it
  Answered,  // its response is there already
  Full,      // no room in its lane; the exchange stays with the caller
};

/// Who gets an exchange back that no connection waits for. The loop; lives until it has come back.
class ExchangeOwner {
 public:
  virtual void on_notice(Exchange& exchange, Exchange::Seen seen) = 0;

 protected:
  ~ExchangeOwner() = default;
};

/// The server's side. The loop.
class PostOffice {
 public:
  /// Whether a request for this path would be taken now: such ones fill no more than half of a lane's queue.
  [[nodiscard]] virtual bool has_room(std::string_view path) = 0;
  [[nodiscard]] virtual Exchange* take_exchange() = 0;
  /// The exchange's owner hears of what becomes of it.
  [[nodiscard]] virtual Submitted post(Exchange& exchange) = 0;
  /// It was answered, with so many bytes of a body, and is not needed any more.
  virtual void give_back(Exchange& exchange, std::uint64_t body_bytes) = 0;
  /// It was never posted.
  virtual void discard(Exchange& exchange) = 0;

 protected:
  ~PostOffice() = default;
};

}  // namespace m0::handler
