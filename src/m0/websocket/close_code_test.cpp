#include "m0/websocket/close_code.hpp"

namespace m0::websocket {
namespace {

/// The ranges of codes for which `allowed` holds, among all that fit two bytes.
std::string ranges(bool (*allowed)(unsigned) noexcept) {
  std::string out;
  for (unsigned code = 0; code < 65536; ++code) {
    if (!allowed(code)) continue;
    if (code == 0 || !allowed(code - 1)) out += (out.empty() ? "" : " ") + std::to_string(code) + '-';
    if (code == 65535 || !allowed(code + 1)) out += std::to_string(code);
  }
  return out;
}

TEST(CloseCode, WhatAClientMaySend) { EXPECT_EQ(ranges(client_may_send_code), "1000-1003 1007-1014 3000-4999"); }

TEST(CloseCode, WhatAServerMaySend) {
  EXPECT_EQ(ranges(server_may_send_code), "1000-1003 1007-1009 1011-1014 3000-4999");
}

TEST(CloseCode, NoStatusIsNeverSent) {
  EXPECT_FALSE(client_may_send_code(close_code::kNoStatus));
  EXPECT_FALSE(server_may_send_code(close_code::kNoStatus));
}

}  // namespace
}  // namespace m0::websocket
