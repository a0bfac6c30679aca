#include "m0/process/config.hpp"

namespace m0::process {
namespace {

pool::LaneConfig lane_of(unsigned threads) {
  pool::LaneConfig lane;
  lane.threads = lane.max_threads = threads;
  return lane;
}

TEST(Multithread, OneThreadInAllIsNone) {
  Config config;
  EXPECT_TRUE(multithread(config));
  config.server.lane = lane_of(1);
  EXPECT_FALSE(multithread(config));
  config.server.lane.max_threads = 2;
  EXPECT_TRUE(multithread(config));
}

TEST(Multithread, TwoLanesOfOneThreadAreTwo) {
  Config config;
  config.server.lane = lane_of(1);
  config.server.lanes.push_back({"/reports", lane_of(1)});
  EXPECT_TRUE(multithread(config));
}

TEST(Multithread, AMountOnTheLoopHasNone) {
  Config config;
  config.server.lane = lane_of(1);
  config.server.mounts.push_back({"/health", 1, true, lane_of(5)});
  EXPECT_FALSE(multithread(config));
}

}  // namespace
}  // namespace m0::process
