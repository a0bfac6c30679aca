#pragma once
// The one gate at which a stream is refused that nobody could drain.

#include <cstdint>

#include "m0/handler/response.hpp"

namespace m0::handler {

/// Who made an answer. A new place that makes answers is named here, and says whether it can drain a stream.
enum class AnsweredBy : std::uint8_t {
  Loop,  // a LoopHandler, on the loop's own thread
  Pool,  // a thread of the pool
};
inline constexpr AnsweredBy kAllAnswerers[] = {AnsweredBy::Loop, AnsweredBy::Pool};

/// The loop runs a producer: it can drain what was made on it. A pool thread has gone on to its next job by the time
/// that its answer is sent, and what it made there would run on a thread that it was not made for.
[[nodiscard]] constexpr bool can_stream(AnsweredBy by) noexcept {
  switch (by) {
    case AnsweredBy::Loop: return true;
    case AnsweredBy::Pool: return false;
  }
  return false;
}

/// At completion, for every answer: a stream from a place that cannot drain one becomes a 409 that says why. Returns
/// whether it did.
bool refuse_stream(AnsweredBy by, Response& response);

}  // namespace m0::handler
