#include "m0/handler/exchange.hpp"

#include "m0/base/check.hpp"

namespace m0::handler {

bool Exchange::move(Phase from, Phase to) noexcept {
  std::uint32_t word = word_.load(std::memory_order_acquire);
  while (phase_of(word) == from) {
    const std::uint32_t next = (word & ~kPhaseMask) | static_cast<std::uint32_t>(to);
    // Release: the loop that sees Streaming sees the head and the window.
    if (word_.compare_exchange_weak(word, next, std::memory_order_acq_rel)) return true;
  }
  return false;
}

bool Exchange::start() noexcept { return move(Phase::Queued, Phase::Running); }

bool Exchange::start_streaming() noexcept { return move(Phase::Running, Phase::Streaming); }

bool Exchange::notify() noexcept { return (word_.fetch_or(kInList, std::memory_order_acq_rel) & kInList) == 0; }

bool Exchange::finish() noexcept {
  std::uint32_t word = word_.load(std::memory_order_acquire);
  for (;;) {
    const Phase phase = phase_of(word) == Phase::Abandoned ? Phase::Abandoned : Phase::Done;
    // One step for the phase, the mark and the return: the loop may free the exchange as soon as it sees them.
    const std::uint32_t next = static_cast<std::uint32_t>(phase) | kInList | kReturned;
    if (word_.compare_exchange_weak(word, next, std::memory_order_acq_rel)) return (word & kInList) == 0;
  }
}

void Exchange::submit() noexcept {
  M0_CHECK(phase() == Phase::Gathering);
  word_.store(static_cast<std::uint32_t>(Phase::Queued), std::memory_order_release);
}

void Exchange::withdraw() noexcept {
  M0_CHECK(phase() == Phase::Queued);
  word_.store(static_cast<std::uint32_t>(Phase::Gathering), std::memory_order_relaxed);
}

bool Exchange::abandon_queued() noexcept { return move(Phase::Queued, Phase::Abandoned); }

void Exchange::abandon() noexcept {
  std::uint32_t word = word_.load(std::memory_order_acquire);
  for (;;) {
    const Phase was = phase_of(word);
    if (was == Phase::Gathering || was == Phase::Done || was == Phase::Abandoned) break;
    const std::uint32_t next = (word & ~kPhaseMask) | static_cast<std::uint32_t>(Phase::Abandoned);
    if (word_.compare_exchange_weak(word, next, std::memory_order_acq_rel)) {
      // Only a Streaming exchange has published its window; a Running one finds out when it asks to stream.
      if (was == Phase::Streaming) window->close();
      break;
    }
  }
}

Exchange::Seen Exchange::take_notice() noexcept {
  const std::uint32_t word = word_.fetch_and(~kInList, std::memory_order_acq_rel);
  return {phase_of(word), (word & kReturned) != 0};
}

void Exchange::reset() noexcept {
  // A request that could not be read is logged too, and must not show what the last one was.
  request.raw = request.method = request.target = request.path = request.query = request.authority = {};
  request.fields.clear();
  request.version = http::Version::Http11;
  head_storage.clear();
  body.clear();
  response.clear();
  window.reset();
  aborted = false;
  answered_by = AnsweredBy::Pool;
  target = 0;
  mount_length = 0;
  queue_deadline = base::Instant::max();
  connection = {};
  owner = nullptr;
  connection_id = {};
  wire.clear();
  peer_ended_.store(false, std::memory_order_relaxed);
  word_.store(static_cast<std::uint32_t>(Phase::Gathering), std::memory_order_relaxed);
}

}  // namespace m0::handler
