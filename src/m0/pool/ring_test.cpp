#include "m0/pool/ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

namespace m0::pool {
namespace {

TEST(Ring, RoundsItsRoomUpToAPowerOfTwoAndToTwoAtLeast) {
  EXPECT_EQ(Ring<int>(0).capacity(), 2U);
  EXPECT_EQ(Ring<int>(1).capacity(), 2U);
  EXPECT_EQ(Ring<int>(3).capacity(), 4U);
  EXPECT_EQ(Ring<int>(64).capacity(), 64U);
  EXPECT_EQ(Ring<int>(65).capacity(), 128U);
}

TEST(Ring, TakesExactlyItsCapacity) {
  Ring<int> ring(8);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(ring.push(i));
  EXPECT_EQ(ring.size(), 8U);
  EXPECT_FALSE(ring.push(8));
  EXPECT_EQ(ring.size(), 8U);

  EXPECT_EQ(ring.pop(), 0);
  EXPECT_TRUE(ring.push(8));
  EXPECT_FALSE(ring.push(9));
}

TEST(Ring, GivesValuesBackInOrder) {
  Ring<int> ring(4);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(ring.push(i));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ring.pop(), i);
  EXPECT_EQ(ring.pop(), std::nullopt);
}

TEST(Ring, WrapsManyTimesAtEveryFill) {
  for (std::size_t fill = 1; fill <= 4; ++fill) {
    Ring<std::size_t> ring(4);
    std::size_t pushed = 0;
    std::size_t popped = 0;
    for (int lap = 0; lap < 40; ++lap) {
      for (std::size_t i = 0; i < fill; ++i) ASSERT_TRUE(ring.push(pushed++));
      EXPECT_EQ(ring.size(), fill);
      EXPECT_FALSE(ring.empty());
      for (std::size_t i = 0; i < fill; ++i) ASSERT_EQ(ring.pop(), popped++);
      EXPECT_TRUE(ring.empty());
      EXPECT_EQ(ring.size(), 0U);
    }
  }
}

TEST(Ring, ManyProducersAndConsumersSeeEveryValueOnce) {
  constexpr std::uint32_t kProducers = 3;
  constexpr std::uint32_t kConsumers = 3;
  constexpr std::uint32_t kEach = 20'000;
  Ring<std::uint32_t> ring(64);  // small, so that it is full and empty again and again
  std::vector<std::atomic<std::uint32_t>> seen(kProducers * kEach);
  std::atomic<std::uint32_t> taken{0};
  std::atomic<bool> in_order{true};

  std::vector<std::jthread> threads;
  for (std::uint32_t producer = 0; producer < kProducers; ++producer) {
    threads.emplace_back([&, producer] {
      for (std::uint32_t i = 0; i < kEach; ++i) {
        while (!ring.push(producer * kEach + i)) std::this_thread::yield();
      }
    });
  }
  for (std::uint32_t consumer = 0; consumer < kConsumers; ++consumer) {
    threads.emplace_back([&] {
      std::vector<std::int64_t> last(kProducers, -1);
      while (taken.load() < kProducers * kEach) {
        const auto value = ring.pop();
        if (!value) {
          std::this_thread::yield();
          continue;
        }
        taken.fetch_add(1);
        seen[*value].fetch_add(1);
        // One consumer sees what one producer pushed in the order in which it was pushed.
        std::int64_t& before = last[*value / kEach];
        if (static_cast<std::int64_t>(*value) <= before) in_order = false;
        before = *value;
      }
    });
  }
  threads.clear();

  EXPECT_TRUE(in_order);
  EXPECT_TRUE(ring.empty());
  for (const auto& count : seen) ASSERT_EQ(count.load(), 1U);
}

// A lane that believes its ring empty is watched by nobody: "empty" must never be said while a value waits, even if
// another thread takes the one before it at that moment.
TEST(Ring, IsNeverEmptyWhileAValueWaits) {
  constexpr std::size_t kRounds = 30;
  constexpr std::size_t kValues = 4096;
  Ring<std::size_t> ring(kValues);
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kValues; ++i) ASSERT_TRUE(ring.push(i));
    std::atomic<bool> asking{false};
    std::atomic<bool> done{false};
    std::size_t wrong = 0;
    std::jthread asker([&] {
      asking = true;
      while (!done.load(std::memory_order_relaxed)) wrong += ring.empty() ? 1 : 0;
    });
    while (!asking) std::this_thread::yield();
    for (std::size_t i = 0; i + 1 < kValues; ++i) ASSERT_TRUE(ring.pop());
    done = true;
    asker.join();
    ASSERT_EQ(wrong, 0U) << "in round " << round;
    ASSERT_TRUE(ring.pop());
  }
}

TEST(Ring, SizeNeverExceedsWhatWaits) {
  constexpr std::size_t kValues = 4096;
  Ring<std::size_t> ring(kValues);
  for (std::size_t i = 0; i < kValues; ++i) ASSERT_TRUE(ring.push(i));
  std::jthread consumer([&] {
    while (ring.pop()) {
    }
  });
  // With nobody pushing, the size only falls.
  std::size_t before = kValues;
  while (before > 0) {
    const std::size_t size = ring.size();
    ASSERT_LE(size, before);
    before = size;
  }
}

}  // namespace
}  // namespace m0::pool
