#include "m0/base/intrusive_list.hpp"

#include <memory>
#include <vector>

namespace m0::base {
namespace {

struct Left {};
struct Right {};

struct Item : ListNode<Left>, ListNode<Right> {
  explicit Item(int n) : number(n) {}
  int number;
};

using LeftList = IntrusiveList<Item, Left>;
using RightList = IntrusiveList<Item, Right>;

std::vector<int> numbers(auto& list) {
  std::vector<int> out;
  list.for_each([&](Item& item) { out.push_back(item.number); });
  return out;
}

TEST(IntrusiveList, KeepsOrder) {
  Item a(1), b(2), c(3);
  LeftList list;
  EXPECT_TRUE(list.empty());
  list.push_back(a);
  list.push_back(b);
  list.push_back(c);
  EXPECT_EQ(numbers(list), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(list.front(), &a);
  EXPECT_EQ(list.pop_front(), &a);
  EXPECT_EQ(list.pop_front(), &b);
  EXPECT_EQ(list.pop_front(), &c);
  EXPECT_EQ(list.pop_front(), nullptr);
  EXPECT_EQ(list.front(), nullptr);
}

TEST(IntrusiveList, UnlinksFromTheMiddle) {
  Item a(1), b(2), c(3);
  LeftList list;
  for (Item* item : {&a, &b, &c}) list.push_back(*item);
  static_cast<LeftList::Node&>(b).unlink();
  EXPECT_FALSE(static_cast<LeftList::Node&>(b).linked());
  EXPECT_EQ(numbers(list), (std::vector<int>{1, 3}));
}

TEST(IntrusiveList, UnlinkTwiceIsHarmless) {
  Item a(1);
  LeftList list;
  list.push_back(a);
  static_cast<LeftList::Node&>(a).unlink();
  static_cast<LeftList::Node&>(a).unlink();
  EXPECT_TRUE(list.empty());
}

TEST(IntrusiveList, PushingAgainMovesToTheEnd) {
  Item a(1), b(2);
  LeftList list;
  list.push_back(a);
  list.push_back(b);
  list.push_back(a);
  EXPECT_EQ(numbers(list), (std::vector<int>{2, 1}));
}

TEST(IntrusiveList, PushingMovesBetweenLists) {
  Item a(1);
  LeftList one;
  LeftList other;
  one.push_back(a);
  other.push_back(a);
  EXPECT_TRUE(one.empty());
  EXPECT_EQ(numbers(other), (std::vector<int>{1}));
}

TEST(IntrusiveList, ADestroyedElementLeaves) {
  Item a(1);
  LeftList list;
  list.push_back(a);
  {
    Item b(2);
    list.push_back(b);
    EXPECT_EQ(numbers(list), (std::vector<int>{1, 2}));
  }
  EXPECT_EQ(numbers(list), (std::vector<int>{1}));
}

TEST(IntrusiveList, ADestroyedListLetsItsElementsGo) {
  Item a(1);
  {
    LeftList list;
    list.push_back(a);
  }
  EXPECT_FALSE(static_cast<LeftList::Node&>(a).linked());
}

TEST(IntrusiveList, OneElementCanBeInAListOfEachTag) {
  Item a(1);
  LeftList left;
  RightList right;
  left.push_back(a);
  right.push_back(a);
  EXPECT_EQ(left.pop_front(), &a);
  EXPECT_EQ(numbers(right), (std::vector<int>{1}));
}

TEST(IntrusiveList, SpliceAppendsInOrder) {
  Item a(1), b(2), c(3);
  LeftList from;
  LeftList to;
  to.push_back(a);
  from.push_back(b);
  from.push_back(c);
  from.splice_to(to);
  EXPECT_TRUE(from.empty());
  EXPECT_EQ(numbers(to), (std::vector<int>{1, 2, 3}));
}

TEST(IntrusiveList, AVisitorMayUnlinkWhatItWasGiven) {
  Item a(1), b(2), c(3);
  LeftList list;
  for (Item* item : {&a, &b, &c}) list.push_back(*item);
  list.for_each([](Item& item) {
    if (item.number != 2) static_cast<LeftList::Node&>(item).unlink();
  });
  EXPECT_EQ(numbers(list), (std::vector<int>{2}));
}

}  // namespace
}  // namespace m0::base
