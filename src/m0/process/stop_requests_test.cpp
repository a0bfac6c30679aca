#include "m0/process/stop_requests.hpp"

namespace m0::process {
namespace {

using namespace std::chrono_literals;
using Wish = StopRequests::Wish;

TEST(StopRequests, TheFirstIsGracefulAndALaterOneIsNot) {
  StopRequests stop;
  const base::Instant now = base::now();
  EXPECT_EQ(stop.signals_came(0, now), Wish::Nothing);
  EXPECT_FALSE(stop.stopping());
  EXPECT_EQ(stop.signals_came(1, now), Wish::Graceful);
  EXPECT_TRUE(stop.stopping());
  EXPECT_EQ(stop.signals_came(0, now + 5s), Wish::Nothing);
  EXPECT_EQ(stop.signals_came(1, now + 5s), Wish::AtOnce);
  EXPECT_EQ(stop.signals_came(1, now + 6s), Wish::AtOnce);
}

TEST(StopRequests, TwoAtOnceAreOneWish) {
  const base::Instant now = base::now();
  StopRequests together;
  EXPECT_EQ(together.signals_came(2, now), Wish::Graceful);
  StopRequests soon;
  EXPECT_EQ(soon.signals_came(1, now), Wish::Graceful);
  EXPECT_EQ(soon.signals_came(1, now + 99ms), Wish::Nothing);
  EXPECT_EQ(soon.signals_came(1, now + 101ms), Wish::AtOnce);
}

}  // namespace
}  // namespace m0::process
