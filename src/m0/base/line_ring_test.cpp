#include "m0/base/line_ring.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>

namespace m0::base {
namespace {

using Small = LineRing<4, 1000>;

std::string take(Small& ring) {
  std::optional<std::string> line = ring.pop();
  return line ? *line : "(none)";
}

TEST(LineRing, KeepsOrder) {
  Small ring;
  EXPECT_TRUE(ring.empty());
  EXPECT_TRUE(ring.push("a"));
  EXPECT_TRUE(ring.push("b"));
  EXPECT_FALSE(ring.empty());
  EXPECT_EQ(take(ring), "a");
  EXPECT_EQ(take(ring), "b");
  EXPECT_EQ(take(ring), "(none)");
}

TEST(LineRing, RefusesWhatDoesNotFitAndLeavesItAlone) {
  Small ring;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(ring.push(std::to_string(i)));
  std::string line = "a line that is longer than a small string";
  EXPECT_FALSE(ring.push(std::move(line)));
  EXPECT_EQ(line, "a line that is longer than a small string");  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(take(ring), "0");
  EXPECT_TRUE(ring.push(std::move(line)));
}

TEST(LineRing, IsBoundedByBytesToo) {
  Small ring;
  EXPECT_TRUE(ring.push(std::string(600, 'x')));
  EXPECT_FALSE(ring.push(std::string(401, 'y')));
  EXPECT_TRUE(ring.push(std::string(400, 'y')));
  EXPECT_EQ(take(ring).size(), 600U);
  EXPECT_TRUE(ring.push(std::string(600, 'z')));
}

TEST(LineRing, ARefusedLineCostsNoBytes) {
  Small ring;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(ring.push("x"));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(ring.push(std::string(900, 'y')));
  for (int i = 0; i < 4; ++i) take(ring);
  EXPECT_TRUE(ring.push(std::string(1000, 'z')));
}

TEST(LineRing, GoesRoundManyTimes) {
  Small ring;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(ring.push(std::to_string(i)));
    ASSERT_TRUE(ring.push(std::to_string(-i)));
    ASSERT_EQ(take(ring), std::to_string(i));
    ASSERT_EQ(take(ring), std::to_string(-i));
  }
  EXPECT_EQ(ring.pushed(), 2000U);
}

TEST(LineRing, EveryProducersLinesArriveOnceAndInOrder) {
  LineRing<64, 1 << 20> ring;
  constexpr int kEach = 5'000;
  std::vector<std::thread> producers;
  for (int p = 0; p < 3; ++p) {
    producers.emplace_back([&ring, p] {
      for (int i = 0; i < kEach; ++i) {
        while (!ring.push(std::to_string(p) + " " + std::to_string(i))) std::this_thread::yield();
      }
    });
  }
  std::map<int, int> next;
  for (int got = 0; got < 3 * kEach;) {
    const std::optional<std::string> line = ring.pop();
    if (!line) {
      std::this_thread::yield();
      continue;
    }
    const std::size_t space = line->find(' ');
    const int producer = std::stoi(line->substr(0, space));
    ASSERT_EQ(std::stoi(line->substr(space + 1)), next[producer]++);
    ++got;
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_FALSE(ring.pop());
}

TEST(LineRing, StartsEmptyInAChild) {
  Small ring;
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(ring.push("parent's"));
    if (i < 3) take(ring);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ring.restart_in_child();
    const bool fine = ring.empty() && ring.push("child's") && take(ring) == "child's" && ring.empty();
    ::_exit(fine ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(take(ring), "parent's");
}

}  // namespace
}  // namespace m0::base
