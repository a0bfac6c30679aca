#include "m0/server/loop_shared.hpp"

#include <time.h>

#include "m0/http/date.hpp"
#include "m0/server/connection.hpp"

namespace m0::server {

LoopShared::LoopShared(net::EventLoop& event_loop, const Config& settings, RequestSink& requests)
    : loop(event_loop),
      config(settings),
      sink(requests),
      h1{settings.limits, {}},
      bodies{settings.body_memory, settings.body_disk},
      exchanges(bodies),
      clocks{net::TickClock(base::Duration::zero()),    net::TickClock(settings.timeouts.idle),
             net::TickClock(settings.timeouts.head),    net::TickClock(settings.timeouts.body),
             net::TickClock(settings.timeouts.write),   net::TickClock(kLingerQuiet),
             net::TickClock(settings.timeouts.silence), net::TickClock(base::Duration::zero())},
      scratch(new char[kScratch]) {
  answers.server = "m0serve";
  refresh_date();
}

void LoopShared::refresh_date() {
  timespec at{};
  clock_gettime(CLOCK_REALTIME_COARSE, &at);
  if (at.tv_sec == date_second_) return;
  date_second_ = at.tv_sec;
  date_ = http::imf_fixdate(at.tv_sec);
  answers.date = date_;
}

}  // namespace m0::server
