#include "m0/process/control_protocol.hpp"

namespace m0::process {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::string encoded(std::initializer_list<std::string_view> fields) {
  return encode_message({fields.begin(), fields.size()});
}

TEST(ControlProtocol, AMessageOnTheWire) {
  EXPECT_EQ(encoded({"ok", "", "x\0y"sv}), "\0\0\0\x11\0\0\0\x02ok\0\0\0\0\0\0\0\x03x\0y"s);
}

TEST(ControlProtocol, ComesBackWhateverThePieces) {
  const std::string big(70'000, 'd');
  const std::string wire = encoded({"publish", "news", big}) + encoded({"publish", "", "\xff\0"sv});
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{4096}, wire.size()}) {
    MessageReader reader(100'000);
    std::vector<ControlFields> got;
    for (std::size_t at = 0; at < wire.size(); at += piece) {
      reader.feed(std::string_view(wire).substr(at, piece));
      while (auto fields = reader.next().value()) got.push_back(std::move(*fields));
    }
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0], (ControlFields{"publish", "news", big}));
    EXPECT_EQ(got[1], (ControlFields{"publish", "", "\xff\0"s}));
  }
}

TEST(ControlProtocol, WhatIsTooLargeIsRefusedByItsLength) {
  const std::string wire = encoded({"publish", "12345"});  // 20 bytes after the first length
  for (const std::size_t largest : {20u, 19u}) {
    MessageReader reader(largest);
    reader.feed(std::string_view(wire).substr(0, 4));
    const auto said = reader.next();
    if (largest == 20) {
      EXPECT_TRUE(said && !*said);
    } else {
      ASSERT_FALSE(said);
      EXPECT_EQ(said.error(), FramingError::TooLarge);
    }
  }
}

TEST(ControlProtocol, LengthsHaveToAgree) {
  for (const std::string& wire : {
           "\0\0\0\0"s,                     // no fields
           "\0\0\0\x03\0\0\0"s,             // half a length
           "\0\0\0\x06\0\0\0\x03xx"s,       // a field longer than its message
           "\0\0\0\x05\xff\xff\xff\xff."s,  // by far
           "\0\0\0\x08\0\0\0\x02ok\0\0"s,   // something after the last field
           encode_message(std::vector<std::string_view>(kMostControlFields + 1, "x")),
       }) {
    MessageReader reader(1000);
    reader.feed(wire);
    const auto said = reader.next();
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error(), FramingError::Malformed);
  }
}

}  // namespace
}  // namespace m0::process
