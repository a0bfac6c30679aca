#include "m0/base/slot_map.hpp"

#include <set>
#include <string>
#include <vector>

namespace m0::base {
namespace {

struct Counted {
  explicit Counted(int& alive_count) : alive(alive_count) { ++alive; }
  ~Counted() { --alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int& alive;
};

TEST(SlotMap, FindsWhatWasPutIn) {
  SlotMap<std::string> map;
  const SlotHandle a = map.emplace("a");
  const SlotHandle b = map.emplace("b");
  ASSERT_NE(map.find(a), nullptr);
  EXPECT_EQ(*map.find(a), "a");
  EXPECT_EQ(*map.find(b), "b");
  EXPECT_EQ(map.size(), 2U);
}

TEST(SlotMap, AnEmptyHandleNamesNothing) {
  SlotMap<int> map;
  EXPECT_EQ(map.find({}), nullptr);
  map.emplace(1);
  EXPECT_EQ(map.find({}), nullptr);
}

TEST(SlotMap, AHandleBeyondTheEndNamesNothing) {
  SlotMap<int, 4> map;
  map.emplace(1);
  EXPECT_EQ(map.find({4, 1}), nullptr);
  EXPECT_EQ(map.find({0xffffffff, 1}), nullptr);
}

TEST(SlotMap, AHandleToARecycledSlotNamesNothing) {
  SlotMap<int, 1> map;
  const SlotHandle old = map.emplace(1);
  map.erase(old);
  EXPECT_EQ(map.find(old), nullptr);
  const SlotHandle fresh = map.emplace(2);
  ASSERT_EQ(fresh.slot, old.slot);
  EXPECT_NE(fresh.generation, old.generation);
  EXPECT_EQ(map.find(old), nullptr);
  EXPECT_EQ(*map.find(fresh), 2);
}

TEST(SlotMap, ObjectsNeverMove) {
  SlotMap<int, 4> map;
  const SlotHandle first = map.emplace(0);
  const int* at = map.find(first);
  for (int i = 1; i < 1000; ++i) map.emplace(i);
  EXPECT_EQ(map.find(first), at);
  EXPECT_EQ(map.size(), 1000U);
}

TEST(SlotMap, ReusesRoomBeforeItGrows) {
  SlotMap<int, 8> map;
  std::vector<SlotHandle> handles;
  for (int i = 0; i < 8; ++i) handles.push_back(map.emplace(i));
  EXPECT_EQ(map.capacity(), 8U);
  for (const SlotHandle& handle : handles) map.erase(handle);
  for (int i = 0; i < 8; ++i) map.emplace(i);
  EXPECT_EQ(map.capacity(), 8U);
  map.emplace(9);
  EXPECT_EQ(map.capacity(), 16U);
}

TEST(SlotMap, DestroysOnEraseAndAtTheEnd) {
  int alive = 0;
  {
    SlotMap<Counted, 4> map;
    std::vector<SlotHandle> handles;
    for (int i = 0; i < 10; ++i) handles.push_back(map.emplace(alive));
    EXPECT_EQ(alive, 10);
    map.erase(handles[3]);
    EXPECT_EQ(alive, 9);
  }
  EXPECT_EQ(alive, 0);
}

TEST(SlotMap, VisitsTheLiveAndMayEraseThem) {
  SlotMap<int, 4> map;
  std::vector<SlotHandle> handles;
  for (int i = 0; i < 10; ++i) handles.push_back(map.emplace(i));
  map.erase(handles[5]);
  std::set<int> seen;
  map.for_each([&](SlotHandle handle, int& value) {
    seen.insert(value);
    EXPECT_EQ(map.find(handle), &value);
    map.erase(handle);
  });
  EXPECT_EQ(seen, (std::set<int>{0, 1, 2, 3, 4, 6, 7, 8, 9}));
  EXPECT_EQ(map.size(), 0U);
}

TEST(SlotMap, GivesEveryLiveObjectAHandleOfItsOwn) {
  SlotMap<int, 4> map;
  std::set<std::uint32_t> slots;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(slots.insert(map.emplace(i).slot).second);
}

TEST(SlotMapDeathTest, ErasingTwiceIsABugOfOurs) {
  EXPECT_DEATH(
      {
        SlotMap<int> map;
        const SlotHandle handle = map.emplace(1);
        map.erase(handle);
        map.erase(handle);
      },
      "internal error");
}

}  // namespace
}  // namespace m0::base
