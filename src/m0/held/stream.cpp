#include "m0/held/stream.hpp"

#include <utility>

#include "m0/base/metric.hpp"
#include "m0/websocket/close_code.hpp"

namespace m0::held {
namespace {

const base::metric::Counter g_sent_away("m0_streams_sent_away_total",
                                        "Event streams that were told to come back and ended");
const base::metric::Counter g_dismissed("m0_streams_dismissed_total",
                                        "Event streams that were told not to come back and ended");

}  // namespace

Stream::Stream(Common& common, Wire& wire, const EventStreamEncoding& encoding, const Times& times,
               std::uint64_t serial, std::string metadata)
    : Client(common, wire, encoding, times, serial), encoding_(encoding), metadata_(std::move(metadata)) {}

bool Stream::sign_of_life(std::string& out) {
  encoding_.append_cursor(out, common_.hub.settled(*this), common_.config.retry_ms);
  return true;
}

void Stream::append_message(std::string& out, std::string_view data, bool) const {
  encoding_.append_message(out, data);
}

void Stream::leave_for_now() noexcept {
  if (over() || leaving()) return;
  g_sent_away.add();
  set_close_code(websocket::close_code::kServiceRestart);
  // In the middle of a frame, or behind bytes that wait, it could not be read as what it is.
  if (!resting()) return end(Ending::Cut);
  std::string last;
  encoding_.append_retry(last, common_.spread_retry());
  say_last(last);
}

void Stream::dismiss(const pubsub::Farewell& farewell) noexcept {
  if (farewell.reconnect) return leave_for_now();
  if (over() || leaving()) return;
  g_dismissed.add();
  set_close_code(websocket::close_code::kNormal);
  std::string last;
  encoding_.append_end(last, {common_.log.epoch(), cursor()});
  say_last(last);
}

}  // namespace m0::held
