#include "m0/process/slots.hpp"

namespace m0::process {
namespace {

TEST(Slots, ARefusalIsKeptUntilItsSlotIsCleared) {
  Slots slots(2);
  EXPECT_STREQ(slots[1].refusal.data(), "");
  slots[1].refuse("run two servers");
  EXPECT_STREQ(slots[1].refusal.data(), "run two servers");
  EXPECT_STREQ(slots[0].refusal.data(), "");
  slots.clear(1);
  EXPECT_STREQ(slots[1].refusal.data(), "");
}

TEST(Slots, ARefusalThatDoesNotFitIsCut) {
  Slots slots(1);
  slots[0].refuse(std::string(5000, 'x'));
  EXPECT_EQ(std::string(slots[0].refusal.data()), std::string(slots[0].refusal.size() - 1, 'x'));
}

}  // namespace
}  // namespace m0::process
