#include "m0/handler/body_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "m0/base/clock.hpp"

namespace m0::handler {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kCapacity = BodyWindow::kCapacity;

/// Bytes that tell where they belong.
std::string pattern(std::size_t from, std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(((from + i) * 2'654'435'761U) >> 16);
  return bytes;
}

std::string read_all(BodyWindow& window) {
  std::string bytes;
  while (!window.readable().empty()) {
    const std::string_view piece = window.readable();
    bytes.append(piece);
    window.consume(piece.size());
  }
  return bytes;
}

void spin(int rounds) {
  for (int i = 0; i < rounds; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Whether the condition comes true by another thread's doing.
template <class Condition>
bool eventually(Condition&& holds) {
  const base::Instant deadline = base::now() + 20s;
  while (!holds()) {
    if (base::now() > deadline) return false;
    std::this_thread::sleep_for(50us);
  }
  return true;
}

TEST(BodyWindow, IsEmptyAtFirst) {
  const BodyWindow window;
  EXPECT_TRUE(window.readable().empty());
  EXPECT_FALSE(window.closed());
}

TEST(BodyWindow, GivesBackWhatWasWritten) {
  BodyWindow window;
  EXPECT_EQ(window.try_write("hello, "), 7U);
  EXPECT_EQ(window.try_write(""), 0U);
  EXPECT_EQ(window.try_write("world"), 5U);
  EXPECT_EQ(window.readable(), "hello, world");
  window.consume(7);
  EXPECT_EQ(window.readable(), "world");
  window.consume(5);
  EXPECT_TRUE(window.readable().empty());
}

TEST(BodyWindow, TakesExactlyItsCapacity) {
  BodyWindow window;
  const std::string bytes = pattern(0, kCapacity + 100);
  EXPECT_EQ(window.try_write(bytes), kCapacity);
  EXPECT_EQ(window.try_write("x"), 0U);
  EXPECT_FALSE(window.closed()) << "full is not closed";
  window.consume(3);
  EXPECT_EQ(window.try_write("abcd"), 3U);
  EXPECT_EQ(read_all(window), bytes.substr(3, kCapacity - 3) + "abc");
}

TEST(BodyWindow, WrapsAroundInTwoRuns) {
  BodyWindow window;
  ASSERT_EQ(window.try_write(pattern(0, kCapacity - 10)), kCapacity - 10);
  window.consume(kCapacity - 10);
  const std::string bytes = pattern(kCapacity, 30);
  ASSERT_EQ(window.try_write(bytes), 30U);
  EXPECT_EQ(window.readable(), bytes.substr(0, 10)) << "to the end of the ring";
  window.consume(10);
  EXPECT_EQ(window.readable(), bytes.substr(10)) << "and from its beginning";
}

TEST(BodyWindow, AProducerWithRoomDoesNotWait) {
  BodyWindow window;
  window.wait_for_room();
  ASSERT_EQ(window.try_write(pattern(0, kCapacity / 2)), kCapacity / 2);
  window.wait_for_room();  // half full is room enough; the test hangs otherwise
}

TEST(BodyWindow, AProducerWaitsUntilTheWindowIsHalfEmpty) {
  BodyWindow window;
  ASSERT_EQ(window.try_write(pattern(0, kCapacity)), kCapacity);
  window.consume(1);  // some room is not room enough
  std::atomic<bool> waiting{false};
  std::atomic<bool> back{false};
  std::jthread producer([&] {
    waiting = true;
    window.wait_for_room();
    back = true;
  });
  ASSERT_TRUE(eventually([&] { return waiting.load(); }));
  // It cannot be seen that somebody waits; that it is not back after a while can be.
  const auto stays_away = [&] {
    for (int i = 0; i < 200 && !back; ++i) std::this_thread::sleep_for(20us);
    return !back.load();
  };
  EXPECT_TRUE(stays_away());
  window.consume(kCapacity / 2 - 2);  // one byte too few
  EXPECT_TRUE(stays_away());
  window.consume(1);
  EXPECT_TRUE(eventually([&] { return back.load(); }));
}

TEST(BodyWindow, ClosingBringsBackAProducerThatWaits) {
  BodyWindow window;
  ASSERT_EQ(window.try_write(pattern(0, kCapacity)), kCapacity);
  std::atomic<bool> back{false};
  std::jthread producer([&] {
    window.wait_for_room();
    back = true;
  });
  window.close();
  EXPECT_TRUE(eventually([&] { return back.load(); }));
}

TEST(BodyWindow, AClosedWindowTakesNothingAndNobodyWaits) {
  BodyWindow window;
  ASSERT_EQ(window.try_write(pattern(0, kCapacity)), kCapacity);
  window.close();
  EXPECT_TRUE(window.closed());
  window.wait_for_room();
  EXPECT_EQ(window.try_write("x"), 0U);
  window.close();  // twice does no harm
}

TEST(BodyWindow, ALongStreamArrivesByteForByte) {
  constexpr std::size_t kTotal = 6 * 1024 * 1024 + 17;
  BodyWindow window;
  std::atomic<bool> ended{false};
  std::jthread producer([&] {
    std::minstd_rand random(1);
    std::size_t written = 0;
    while (written < kTotal) {
      const std::string bytes = pattern(written, std::min<std::size_t>(1 + random() % 90'000, kTotal - written));
      std::string_view left = bytes;
      while (!left.empty()) {
        const std::size_t took = window.try_write(left);
        left.remove_prefix(took);
        if (!left.empty()) window.wait_for_room();
      }
      written += bytes.size();
    }
    ended = true;
  });
  std::minstd_rand random(2);
  std::size_t read = 0;
  const base::Instant deadline = base::now() + 60s;
  while (read < kTotal && base::now() < deadline) {
    const std::string_view piece = window.readable();
    if (piece.empty()) {
      std::this_thread::yield();
      continue;
    }
    const std::size_t take = std::min<std::size_t>(piece.size(), 1 + random() % 40'000);
    ASSERT_EQ(piece.substr(0, take), pattern(read, take)) << "at byte " << read;
    window.consume(take);
    read += take;
  }
  EXPECT_EQ(read, kTotal);
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
  EXPECT_TRUE(window.readable().empty());
}

// The room is given back while the producer goes to sleep for it, after a delay that wanders through its way there.
TEST(BodyWindow, RoomGivenBackWhileTheProducerGoesToSleepWakesIt) {
  constexpr int kRounds = 10'000;
  BodyWindow window;
  const std::string bytes = pattern(0, kCapacity);
  std::atomic<int> full{0};
  std::atomic<int> back{0};
  std::jthread producer([&] {
    for (int round = 1; round <= kRounds && !window.closed(); ++round) {
      static_cast<void>(window.try_write(bytes));
      full = round;
      spin(100);  // the consumer hears of it late, and may be early all the same
      window.wait_for_room();
      back = round;
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    const base::Instant deadline = base::now() + 20s;
    while (full.load() < round && base::now() < deadline) {
    }
    spin(round % 400);
    window.consume(window.readable().size());
    window.consume(window.readable().size());
    // Nothing is written before it is back, so that this is the only wake.
    while (back.load() < round && base::now() < deadline) {
    }
    if (back.load() < round) {
      ADD_FAILURE() << "round " << round << ": the producer sleeps beside an empty window";
      break;
    }
  }
  window.close();
}

// The client goes at any moment: the producer comes to its end whatever it was doing.
TEST(BodyWindow, ClosingAtAnyMomentEndsTheProducer) {
  for (int round = 0; round < 300; ++round) {
    BodyWindow window;
    std::jthread producer([&] {
      const std::string bytes = pattern(0, 20'000);
      while (!window.closed()) {
        if (window.try_write(bytes) < bytes.size()) window.wait_for_room();
      }
    });
    for (int i = 0; i < round % 20; ++i) {
      window.consume(window.readable().size());
      std::this_thread::yield();
    }
    window.close();
  }
}

}  // namespace
}  // namespace m0::handler
