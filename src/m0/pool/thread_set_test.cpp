#include "m0/pool/thread_set.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace m0::pool {
namespace {

using namespace std::chrono_literals;

std::vector<std::unique_ptr<ThreadSlot>> make_slots(unsigned count) {
  std::vector<std::unique_ptr<ThreadSlot>> slots;
  for (unsigned i = 0; i < count; ++i) slots.push_back(std::make_unique<ThreadSlot>());
  return slots;
}

TEST(ParkedStack, GivesTheLastParkedFirst) {
  auto slots = make_slots(3);
  ParkedStack stack;
  EXPECT_TRUE(stack.empty());
  EXPECT_EQ(stack.pop(slots), -1);
  for (unsigned i = 0; i < 3; ++i) stack.push(slots, i);
  EXPECT_FALSE(stack.empty());
  EXPECT_EQ(stack.pop(slots), 2);
  stack.push(slots, 2);
  EXPECT_EQ(stack.pop(slots), 2);
  EXPECT_EQ(stack.pop(slots), 1);
  EXPECT_EQ(stack.pop(slots), 0);
  EXPECT_TRUE(stack.empty());
}

// Each index is somewhere exactly once: on the stack, or in the hands of one thread.
TEST(ParkedStack, ManyThreadsNeverGetTheSameIndexTwice) {
  constexpr unsigned kSlots = 4;
  auto slots = make_slots(kSlots);
  ParkedStack stack;
  for (unsigned i = 0; i < kSlots; ++i) stack.push(slots, i);
  std::vector<std::atomic<int>> held(kSlots);
  std::atomic<bool> shared{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100'000; ++i) {
        // Two at once, the first put back first: what makes a stale pop succeed where the stack has no tag.
        const int first = stack.pop(slots);
        const int second = stack.pop(slots);
        for (const int index : {first, second}) {
          if (index >= 0 && held[static_cast<unsigned>(index)].fetch_add(1) != 0) shared = true;
        }
        for (const int index : {first, second}) {
          if (index < 0) continue;
          held[static_cast<unsigned>(index)].fetch_sub(1);
          stack.push(slots, static_cast<unsigned>(index));
        }
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(shared);
  std::set<int> left;
  for (unsigned i = 0; i < kSlots; ++i) left.insert(stack.pop(slots));
  EXPECT_EQ(left, (std::set<int>{0, 1, 2, 3}));
  EXPECT_TRUE(stack.empty());
}

TEST(ThreadSet, StartsNamedThreadsUpToItsCapacityAndReusesSlots) {
  std::mutex mutex;
  std::vector<std::string> names;
  ThreadSet set("a-very-long-lane", 2, [&](unsigned) {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof name);
    const std::lock_guard lock(mutex);
    names.emplace_back(name);
  });
  EXPECT_TRUE(set.spawn());
  EXPECT_TRUE(set.spawn());
  EXPECT_FALSE(set.spawn());
  EXPECT_EQ(set.live(), 2U);
  ASSERT_TRUE(set.join_until(base::now() + 20s));
  EXPECT_EQ(set.live(), 0U);

  EXPECT_TRUE(set.spawn());
  ASSERT_TRUE(set.join_until(base::now() + 20s));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
            (std::set<std::string>{"a-very-long-0", "a-very-long-1"}));
  EXPECT_EQ(names.size(), 3U);
}

TEST(ThreadSet, JoinGivesUpAtItsDeadlineAndCanBeAskedAgain) {
  std::atomic<bool> leave{false};
  ThreadSet set("test", 1, [&](unsigned) { leave.wait(false); });
  ASSERT_TRUE(set.spawn());
  EXPECT_FALSE(set.join_until(base::now() + 2ms));
  EXPECT_EQ(set.live(), 1U);
  leave = true;
  leave.notify_all();
  EXPECT_TRUE(set.join_until(base::now() + 20s));
}

TEST(ThreadSet, WakesTheThreadParkedLast) {
  std::vector<std::atomic<bool>> woken(2);
  ThreadSet* self = nullptr;
  std::atomic<bool> go{false};
  ThreadSet set("test", 2, [&](unsigned index) {
    go.wait(false);
    self->slot(index).parker.wait();
    woken[index] = true;
    woken[index].notify_all();
  });
  self = &set;
  ASSERT_TRUE(set.spawn());
  ASSERT_TRUE(set.spawn());
  set.announce(1);
  set.announce(0);
  go = true;
  go.notify_all();
  EXPECT_TRUE(set.wake_one());
  woken[0].wait(false);
  EXPECT_FALSE(woken[1]);
  EXPECT_TRUE(set.wake_one());
  EXPECT_FALSE(set.wake_one());
  EXPECT_TRUE(set.join_until(base::now() + 20s));
}

}  // namespace
}  // namespace m0::pool
