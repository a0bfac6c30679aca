#include "m0/websocket/bounded_append.hpp"

namespace m0::websocket {
namespace {

TEST(BoundedAppend, NeverTakesMoreThanTheTextCanHave) {
  std::string text;
  std::size_t moves = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t before = text.capacity();
    append_bounded(text, "x", 1000);
    moves += text.capacity() != before ? 1 : 0;
  }
  EXPECT_EQ(text, std::string(1000, 'x'));
  EXPECT_LE(text.capacity(), 1001U);
  EXPECT_LE(moves, 10U);  // by doubling
}

TEST(BoundedAppend, TakesWhatIsNeededAtOnce) {
  std::string text;
  append_bounded(text, std::string(5000, 'a'), 1U << 30U);
  EXPECT_LE(text.capacity(), 5001U);
}

TEST(BoundedAppend, KeepsWhatWasThere) {
  std::string text = "ab";
  append_bounded(text, std::string(100, 'c'), 102);
  append_bounded(text, "", 102);
  EXPECT_EQ(text, "ab" + std::string(100, 'c'));
}

}  // namespace
}  // namespace m0::websocket
