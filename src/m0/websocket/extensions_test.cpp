#include "m0/websocket/extensions.hpp"

namespace m0::websocket {
namespace {

constexpr std::string_view kPlain = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

/// What the answer to these fields says beyond kPlain; or "none"; or "malformed".
std::string answer_to_fields(const std::vector<std::string>& fields, const DeflateSettings& settings = {}) {
  std::optional<DeflateAgreement> agreed;
  for (const std::string& field : fields) {
    if (!read_extension_offers(field, settings, agreed)) return "malformed";
  }
  if (!agreed) return "none";
  std::string out;
  append_extension_answer(out, *agreed);
  EXPECT_TRUE(out.starts_with(kPlain)) << out;
  return out.substr(std::min(out.size(), kPlain.size()));
}

std::string answer(std::string_view field, const DeflateSettings& settings = {}) {
  return answer_to_fields(std::vector{std::string(field)}, settings);
}

TEST(Extensions, BothSidesGiveUpContextTakeover) {
  EXPECT_EQ(answer("permessage-deflate"), "");
  EXPECT_EQ(answer("permessage-deflate; server_no_context_takeover"), "");
  EXPECT_EQ(answer("permessage-deflate; client_no_context_takeover"), "");
  EXPECT_EQ(answer("permessage-deflate; client_no_context_takeover; server_no_context_takeover"), "");
}

TEST(Extensions, WhatBrowsersSend) {
  EXPECT_EQ(answer("permessage-deflate; client_max_window_bits"), "");  // Chromium
  EXPECT_EQ(answer("permessage-deflate"), "");                          // Firefox
  EXPECT_EQ(answer("x-webkit-deflate-frame"), "none");
}

TEST(Extensions, TheServersWindow) {
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=15"), "; server_max_window_bits=15");
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=10"), "; server_max_window_bits=10");
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=9"), "; server_max_window_bits=9");
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=8"), "none");  // zlib cannot
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=14", {.server_window_bits = 12}),
            "; server_max_window_bits=12");
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=10", {.server_window_bits = 12}),
            "; server_max_window_bits=10");
}

// RFC 7692 5.1: in the order of the client's preference, the first that can be met.
TEST(Extensions, AWindowThatIsTooSmallLeavesTheNextOffer) {
  const DeflateSettings settings{.least_server_window_bits = 12};
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=12", settings), "; server_max_window_bits=12");
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=11", settings), "none");
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=9, permessage-deflate", settings), "");
  EXPECT_EQ(answer("permessage-deflate", settings), "");
}

TEST(Extensions, TheAgreementHoldsTheWindowToCompressWith) {
  std::optional<DeflateAgreement> agreed;
  ASSERT_TRUE(read_extension_offers("permessage-deflate; server_max_window_bits=10", {}, agreed));
  EXPECT_EQ(agreed->server_window_bits, 10);
  agreed.reset();
  ASSERT_TRUE(read_extension_offers("permessage-deflate", {.server_window_bits = 11}, agreed));
  EXPECT_EQ(agreed->server_window_bits, 11);
  EXPECT_EQ(agreed->client_window_bits, 15);
}

// RFC 7692 7.1.2.2: never named to a client that did not name it.
TEST(Extensions, TheClientsWindow) {
  EXPECT_EQ(answer("permessage-deflate; client_max_window_bits=8"), "");
  EXPECT_EQ(answer("permessage-deflate; client_max_window_bits=15"), "");
  EXPECT_EQ(answer("permessage-deflate", {.client_window_bits = 10}), "");
  EXPECT_EQ(answer("permessage-deflate; client_max_window_bits", {.client_window_bits = 10}),
            "; client_max_window_bits=10");
  EXPECT_EQ(answer("permessage-deflate; client_max_window_bits=12", {.client_window_bits = 10}),
            "; client_max_window_bits=10");
  EXPECT_EQ(answer("permessage-deflate; client_max_window_bits=9", {.client_window_bits = 10}),
            "; client_max_window_bits=9");
}

TEST(Extensions, WhatDeclinesAnOffer) {
  for (const std::string_view parameters : {
           "server_max_window_bits",
           "server_max_window_bits=7",
           "server_max_window_bits=16",
           "server_max_window_bits=010",
           "server_max_window_bits=+9",
           "server_max_window_bits=1",
           "server_max_window_bits=115",
           "server_max_window_bits=a",
           "client_max_window_bits=7",
           "client_max_window_bits=16",
           "client_max_window_bits=08",
           "client_max_window_bits=\"1\\6\"",
           "server_no_context_takeover=1",
           "server_no_context_takeover=true",
           "client_no_context_takeover=\"x\"",
           "unknown",
           "unknown=1",
           "Server_no_context_takeover",
           "server_no_context_takeover; server_no_context_takeover",
           "client_no_context_takeover; client_no_context_takeover",
           "server_max_window_bits=10; server_max_window_bits=10",
           "client_max_window_bits; client_max_window_bits=10",
       }) {
    EXPECT_EQ(answer("permessage-deflate; " + std::string(parameters)), "none") << parameters;
  }
}

TEST(Extensions, TheFirstOfferThatCanBeMet) {
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=10, permessage-deflate"), "; server_max_window_bits=10");
  EXPECT_EQ(answer("permessage-deflate, permessage-deflate; server_max_window_bits=10"), "");
  EXPECT_EQ(answer("permessage-deflate; unknown, permessage-deflate; server_max_window_bits=11"),
            "; server_max_window_bits=11");
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=8, permessage-deflate"), "");
  EXPECT_EQ(answer("foo; server_max_window_bits=9, permessage-deflate"), "");
}

TEST(Extensions, FieldsAreOneList) {
  EXPECT_EQ(answer_to_fields({"foo", "permessage-deflate; server_max_window_bits=9"}), "; server_max_window_bits=9");
  EXPECT_EQ(answer_to_fields({"permessage-deflate; server_max_window_bits=9", "permessage-deflate"}),
            "; server_max_window_bits=9");
  EXPECT_EQ(answer_to_fields({"permessage-deflate", ","}), "malformed");
}

TEST(Extensions, Whitespace) {
  EXPECT_EQ(answer(" \tpermessage-deflate\t;\tserver_max_window_bits = 9 , foo "), "; server_max_window_bits=9");
  EXPECT_EQ(answer("permessage-deflate;server_max_window_bits=9,foo"), "; server_max_window_bits=9");
}

TEST(Extensions, QuotedValues) {
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=\"10\""), "; server_max_window_bits=10");
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=\"1\\0\""), "; server_max_window_bits=10");
  EXPECT_EQ(answer("foo; a=\"b\", permessage-deflate"), "");
}

TEST(Extensions, NamesAreExact) {
  EXPECT_EQ(answer("Permessage-Deflate"), "none");
  EXPECT_EQ(answer("permessage-deflate-2"), "none");
  EXPECT_EQ(answer("x-permessage-deflate"), "none");
}

// RFC 6455 9.1: whoever receives one fails the connection.
TEST(Extensions, WhatIsNoList) {
  for (const std::string_view value : {
           "",
           " ",
           ",",
           "a,",
           ",a",
           "a,,b",
           ";",
           ";a",
           "a;",
           "a;;b",
           "a;b=",
           "a;=b",
           "a;b==c",
           "a;b=c=d",
           "a b",
           "a; b c",
           "a;b=\"\"",      // a value is a token
           "a;b=\"c d\"",   //
           "a;b=\"c,d\"",   //
           "a;b=\"c",       // not closed
           "a;b=\"c\\",     //
           "a;b=\"c\\\"",   //
           "a;b=\"c\"d",    //
           "a;b=c\"d\"",    //
           "a/b",           //
           "(a)",           //
           "a;b=\xc3\xa4",  //
           "permessage-deflate; server_max_window_bits=10;",
           "permessage-deflate, permessage-deflate; server_max_window_bits=",
       }) {
    EXPECT_EQ(answer(value), "malformed") << value;
  }
}

}  // namespace
}  // namespace m0::websocket
