#include "delivery_reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace m0::bench {
namespace {

std::vector<std::uint32_t> fed(DeliveryReader& reader, std::string_view bytes) {
  std::vector<std::uint32_t> found;
  reader.feed(bytes, [&found](std::uint32_t number) { found.push_back(number); });
  return found;
}

TEST(DeliveryReader, FindsNumbersWhereverTheBytesAreSplit) {
  const std::string bytes = "20\r\nid: 7-1\ndata: ~00000000....\n\n\r\n20\r\ndata: ~00000001....\n\n\r\n";
  for (std::size_t split = 0; split <= bytes.size(); ++split) {
    DeliveryReader reader;
    std::vector<std::uint32_t> found = fed(reader, std::string_view(bytes).substr(0, split));
    for (const std::uint32_t number : fed(reader, std::string_view(bytes).substr(split))) found.push_back(number);
    ASSERT_EQ(found, (std::vector<std::uint32_t>{0, 1})) << split;
    ASSERT_EQ(reader.skipped() + reader.repeated(), 0u);
  }
}

TEST(DeliveryReader, CountsWhatIsMissingAndWhatComesTwice) {
  DeliveryReader reader;
  EXPECT_EQ(fed(reader, "~00000000~00000003~00000003~00000001~00000004"), (std::vector<std::uint32_t>{0, 3, 4}));
  EXPECT_EQ(reader.received(), 3u);
  EXPECT_EQ(reader.skipped(), 2u);
  EXPECT_EQ(reader.repeated(), 2u);
}

TEST(DeliveryReader, PassesOverTheLengthOfAFrame) {
  using std::string_view_literals::operator""sv;
  DeliveryReader reader;
  EXPECT_EQ(fed(reader, "\x81\x7e\x00\x99{\"data\":\"~00000000\"}\x81\x7e~~00000001"sv),
            (std::vector<std::uint32_t>{0, 1}));
}

}  // namespace
}  // namespace m0::bench
