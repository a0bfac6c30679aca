#include "m0/http/scan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace m0::http {
namespace {

TEST(Scan, WideAndScalarStopAtTheSameByte) {
  // Every byte value at every place of runs around the sixteen bytes of a load.
  for (std::size_t size = 0; size <= 50; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, 'a');
        text[at] = static_cast<char>(byte);
        const char* begin = text.data();
        const char* end = begin + size;
        ASSERT_EQ(scan_value(begin, end), scan_value_scalar(begin, end)) << size << ' ' << at << ' ' << byte;
        ASSERT_EQ(scan_target(begin, end), scan_target_scalar(begin, end)) << size << ' ' << at << ' ' << byte;
      }
    }
  }
}

TEST(Scan, NeverReadsBehindTheEnd) {
  const std::string text(40, 'a');
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string exact = text.substr(0, size);  // a block of its own for the address sanitizer
    EXPECT_EQ(scan_value(exact.data(), exact.data() + size), exact.data() + size);
    EXPECT_EQ(scan_target(exact.data(), exact.data() + size), exact.data() + size);
    EXPECT_EQ(scan_token(exact.data(), exact.data() + size), exact.data() + size);
  }
}

TEST(Scan, KnowsItsKinds) {
  int tokens = 0;
  int values = 0;
  int targets = 0;
  for (int byte = 0; byte < 256; ++byte) {
    tokens += is_token_char(static_cast<char>(byte)) ? 1 : 0;
    values += is_value_char(static_cast<char>(byte)) ? 1 : 0;
    targets += is_target_char(static_cast<char>(byte)) ? 1 : 0;
  }
  EXPECT_EQ(tokens, 26 + 26 + 10 + 15);
  EXPECT_EQ(values, 256 - 32 - 1 + 1);
  EXPECT_EQ(targets, 256 - 33 - 2);
  EXPECT_TRUE(is_value_char('\t'));
  EXPECT_FALSE(is_value_char('\x7f'));
  EXPECT_FALSE(is_target_char('#'));
}

}  // namespace
}  // namespace m0::http
