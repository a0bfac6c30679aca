#include "m0/websocket/header_reader.hpp"

namespace m0::websocket {
namespace {

using namespace std::string_literals;

/// What a header says, or why it is refused, or how many of its bytes were taken when they did not suffice.
std::string read(std::string_view bytes, HeaderRules rules = {}) {
  HeaderReader reader;
  const auto used = reader.feed(bytes, rules);
  if (!used) return std::to_string(used.error().code) + ' ' + used.error().why;
  if (!reader.complete()) return "took " + std::to_string(*used);
  std::string out = "opcode=" + std::to_string(static_cast<int>(reader.opcode()));
  if (!reader.fin()) out += " more";
  if (reader.compressed()) out += " compressed";
  out += " length=" + std::to_string(reader.length()) + " mask=";
  for (const int byte : reader.mask()) out += std::to_string(byte) + '.';
  return out + " used=" + std::to_string(*used);
}

TEST(HeaderReader, ThreeFormsOfLength) {
  EXPECT_EQ(read("\x81\x85\x01\x02\x03\x04zzz"), "opcode=1 length=5 mask=1.2.3.4. used=6");
  EXPECT_EQ(read("\x82\xfe\x00\x7e\x01\x02\x03\x04"s), "opcode=2 length=126 mask=1.2.3.4. used=8");
  EXPECT_EQ(read("\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00\x01\x02\x03\xff"s),
            "opcode=2 length=65536 mask=1.2.3.255. used=14");
  EXPECT_EQ(read("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x01\x02\x03\x04z"s),
            "opcode=2 length=9223372036854775807 mask=1.2.3.4. used=14");
}

TEST(HeaderReader, GoesOnWhereItStopped) {
  const std::string bytes = "\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00\x01\x02\x03\x04"s;
  HeaderReader reader;
  EXPECT_TRUE(reader.empty());
  for (const char& c : bytes) {
    ASSERT_FALSE(reader.complete());
    ASSERT_EQ(reader.feed({&c, 1}, {}), 1U);
    ASSERT_FALSE(reader.empty());
  }
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.feed("z", {}), 0U);
  EXPECT_EQ(reader.length(), 65536U);
  EXPECT_EQ(reader.mask(), (Mask{1, 2, 3, 4}));
  reader.reset();
  EXPECT_TRUE(reader.empty());
  EXPECT_EQ(reader.feed("\x81\x80zzzz", {}), 6U);
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.length(), 0U);
}

TEST(HeaderReader, WaitsForWhatIsMissing) {
  EXPECT_EQ(read(""), "took 0");
  EXPECT_EQ(read("\x81"), "took 1");
  EXPECT_EQ(read("\x81\x80\x01\x02\x03"), "took 5");
  EXPECT_EQ(read("\x81\xfe\x00"s), "took 3");
}

TEST(HeaderReader, RefusesAtTheByteThatDecides) {
  EXPECT_EQ(read("\xa1"), "1002 reserved bit");
  EXPECT_EQ(read("\x83"), "1002 reserved opcode");
  EXPECT_EQ(read("\xc1"), "1002 compression that was not agreed on");
  EXPECT_EQ(read("\xc9", {.deflate = true, .in_message = false}), "1002 compressed control frame");
  EXPECT_EQ(read("\xc0", {.deflate = true, .in_message = true}), "1002 compression declared inside a message");
  EXPECT_EQ(read("\x09"), "1002 fragmented control frame");
  EXPECT_EQ(read("\x80"), "1002 continuation of no message");
  EXPECT_EQ(read("\x81", {.deflate = false, .in_message = true}), "1002 message inside a message");
  EXPECT_EQ(read("\x81\x05"), "1002 frame is not masked");
  EXPECT_EQ(read("\x89\xfe"), "1002 control frame is too long");
  EXPECT_EQ(read("\x81\xfe\x00\x7d"s), "1002 length is not in its shortest form");
  EXPECT_EQ(read("\x81\xff\x00\x00\x00\x00\x00\x00\xff\xff"s), "1002 length is not in its shortest form");
  EXPECT_EQ(read("\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00"s), "1002 length of more than 63 bits");
}

// All 256 first bytes in each of the four places: exactly these are the beginning of a frame.
TEST(HeaderReader, EveryFirstByte) {
  const auto accepted = [](HeaderRules rules) {
    std::string out;
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      HeaderReader reader;
      if (reader.feed({&c, 1}, rules)) out += std::to_string(byte) + ' ';
    }
    return out;
  };
  EXPECT_EQ(accepted({.deflate = false, .in_message = false}), "1 2 129 130 136 137 138 ");
  EXPECT_EQ(accepted({.deflate = false, .in_message = true}), "0 128 136 137 138 ");
  EXPECT_EQ(accepted({.deflate = true, .in_message = false}), "1 2 65 66 129 130 136 137 138 193 194 ");
  EXPECT_EQ(accepted({.deflate = true, .in_message = true}), "0 128 136 137 138 ");
}

}  // namespace
}  // namespace m0::websocket
