#include "m0/held/stream.hpp"

#include <algorithm>
#include <utility>

#include "m0/base/bytes.hpp"
#include "m0/base/metric.hpp"

namespace m0::held {
namespace {

const base::metric::Counter g_keep_alives("m0_keep_alives_total", "Signs of life that were sent to event streams");
const base::metric::Counter g_sent_away("m0_streams_sent_away_total",
                                        "Event streams that were told to come back and ended");

}  // namespace

Stream::Stream(Wire& wire, pubsub::Hub& hub, const EventStreamEncoding& encoding, const Times& times, unsigned retry_ms)
    : wire_(wire), hub_(hub), encoding_(encoding), times_(times), retry_ms_(retry_ms) {}

Stream::~Stream() {
  if (joined()) hub_.leave(*this);
}

void Stream::open(std::string first, std::span<const std::string_view> channels, std::uint64_t cursor) {
  own_ = std::move(first);
  hub_.join(*this, encoding_, channels, cursor);
  static_cast<void>(flush_own());
}

bool Stream::flush_own() noexcept {
  if (own_.empty()) return !full_;
  const pubsub::Taken taken = wire_.write(own_);
  if (taken.gone) {
    end();
    return false;
  }
  full_ = taken.bytes < own_.size();
  if (full_) {
    own_.erase(0, taken.bytes);
  } else {
    base::free_room(own_);  // thousands of these wait
  }
  return !full_;
}

pubsub::Taken Stream::take(std::string_view bytes) noexcept {
  if (over_) return {0, true};
  if (!flush_own()) return {0, over_};
  const pubsub::Taken taken = wire_.write(bytes);
  if (taken.gone) end();
  full_ = taken.bytes < bytes.size();
  return taken;
}

void Stream::writable() noexcept {
  full_ = false;
  if (!over_ && flush_own()) hub_.writable(*this);
}

void Stream::fell_out() noexcept { end(); }

void Stream::end() noexcept {
  if (std::exchange(over_, true)) return;
  wire_.end();
}

std::uint32_t Stream::due() const noexcept {
  return times_.leave_at == 0 ? times_.keep_alive_at : std::min(times_.keep_alive_at, times_.leave_at);
}

bool Stream::tick(std::uint32_t now, unsigned retry_ms) {
  if (over_) return false;
  if (times_.leave_at != 0 && now >= times_.leave_at) {
    send_away(retry_ms);
    return false;
  }
  if (now < times_.keep_alive_at) return true;
  times_.keep_alive_at = now + times_.keep_alive_every;
  // A client that does not read gets none: its kernel tells whether it lives.
  if (full_ || mid_frame() || !own_.empty()) return true;
  encoding_.append_cursor(own_, hub_.settled(*this), retry_ms_);
  g_keep_alives.add();
  return flush_own() || !over_;
}

void Stream::send_away(unsigned retry_ms) noexcept {
  if (over_) return;
  g_sent_away.add();
  // In the middle of a frame, or behind bytes that wait, it could not be read as what it is.
  if (!mid_frame() && own_.empty() && !full_) {
    encoding_.append_retry(own_, retry_ms);
    static_cast<void>(flush_own());
  }
  end();
}

}  // namespace m0::held
