#include "m0/websocket/base64.hpp"

namespace m0::websocket {
namespace {

std::string encoded(std::string_view bytes) {
  std::string out = "> ";
  append_base64(out, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  return out.substr(2);
}

// RFC 4648 10.
const std::vector<std::pair<std::string, std::string>> kVectors = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
};

TEST(Base64, TestVectors) {
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(encoded(bytes), text);
    EXPECT_EQ(base64_size(text), bytes.size()) << text;
  }
}

TEST(Base64, EveryByte) {
  EXPECT_EQ(encoded("\xff\xff\xff"), "////");
  EXPECT_EQ(encoded("\xfb\xef\xbe"), "++++");
  EXPECT_EQ(encoded(std::string_view("\0\0\0", 3)), "AAAA");
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(base64_size(encoded(bytes)), 256U);
}

TEST(Base64, RefusesWhatIsNotStrict) {
  for (const std::string_view text : {
           "Zg",   "Zg=",      "Zm9vYg", "Zm9v=", "Zm9v====",     "====",    "=",     "Z===",
           "A===", "Zg==Zg==", "Zg=a",   "=g==",                                               // padding
           "Zm9-", "Zm9_",     "Zm 9",   "Zm9\n", "Zm9v\r\n\r\n", "Zm9\xff", " Zm9v", "Zm,v",  // foreign
           "Zh==", "Zv==",     "Zm9=",   "Zm+=",                                               // bits lost
       }) {
    EXPECT_EQ(base64_size(text), std::nullopt) << text;
  }
  EXPECT_EQ(base64_size(std::string_view("Zm9\0", 4)), std::nullopt);
}

}  // namespace
}  // namespace m0::websocket
