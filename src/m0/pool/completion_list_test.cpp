#include "m0/pool/completion_list.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace m0::pool {
namespace {

struct Item : CompletionNode {
  int producer = 0;
  int number = 0;
};

std::vector<int> numbers_taken(CompletionList<Item>& list) {
  std::vector<int> numbers;
  list.take([&](Item& item) { numbers.push_back(item.number); });
  return numbers;
}

TEST(CompletionList, IsEmptyAtFirstAndAfterATake) {
  CompletionList<Item> list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(numbers_taken(list), std::vector<int>{});
  Item item;
  list.push(item);
  EXPECT_FALSE(list.empty());
  EXPECT_EQ(numbers_taken(list), std::vector<int>{0});
  EXPECT_TRUE(list.empty());
}

TEST(CompletionList, GivesBackOldestFirst) {
  CompletionList<Item> list;
  std::vector<Item> items(5);
  for (int i = 0; i < 5; ++i) {
    items[static_cast<std::size_t>(i)].number = i;
    list.push(items[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(numbers_taken(list), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(CompletionList, AnItemMayBePushedAgainOrFreedWhileItIsVisited) {
  CompletionList<Item> list;
  auto again = std::make_unique<Item>();
  auto freed = std::make_unique<Item>();
  again->number = 1;
  freed->number = 2;
  list.push(*again);
  list.push(*freed);
  list.take([&](Item& item) {
    if (item.number == 1) {
      list.push(item);
    } else {
      freed.reset();
    }
  });
  EXPECT_EQ(numbers_taken(list), std::vector<int>{1});
}

TEST(CompletionList, ManyPushersLoseNothingAndKeepTheirOrder) {
  constexpr int kPushers = 4;
  constexpr int kEach = 10'000;
  CompletionList<Item> list;
  std::vector<std::vector<Item>> items(kPushers, std::vector<Item>(kEach));
  std::vector<std::jthread> pushers;
  for (int producer = 0; producer < kPushers; ++producer) {
    pushers.emplace_back([&, producer] {
      for (int i = 0; i < kEach; ++i) {
        Item& item = items[static_cast<std::size_t>(producer)][static_cast<std::size_t>(i)];
        item.producer = producer;
        item.number = i;
        list.push(item);
      }
    });
  }
  std::vector<int> next(kPushers, 0);
  int taken = 0;
  while (taken < kPushers * kEach) {
    list.take([&](Item& item) {
      ASSERT_EQ(item.number, next[static_cast<std::size_t>(item.producer)]++);
      ++taken;
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace m0::pool
