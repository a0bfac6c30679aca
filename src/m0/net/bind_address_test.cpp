#include "m0/net/bind_address.hpp"

#include <algorithm>

namespace m0::net {
namespace {

BindAddress parsed(std::string_view text) {
  const auto address = parse_bind_address(text);
  EXPECT_TRUE(address) << address.error();
  return address.value_or(BindAddress{});
}

std::string refused(std::string_view text) {
  const auto address = parse_bind_address(text);
  EXPECT_FALSE(address) << text;
  return address ? "" : address.error();
}

TEST(BindAddress, HostAndPort) {
  EXPECT_EQ(parsed("127.0.0.1:8000"), (BindAddress{"127.0.0.1", 8000, ""}));
  EXPECT_EQ(parsed("localhost:1"), (BindAddress{"localhost", 1, ""}));
  EXPECT_EQ(parsed("example.test:65535"), (BindAddress{"example.test", 65535, ""}));
  EXPECT_EQ(parsed("127.0.0.1:0").port, 0);
}

TEST(BindAddress, Ipv6InBrackets) {
  EXPECT_EQ(parsed("[::1]:8000"), (BindAddress{"::1", 8000, ""}));
  EXPECT_EQ(parsed("[::]:80"), (BindAddress{"::", 80, ""}));
  EXPECT_EQ(parsed("[fe80::1%lo]:80").host, "fe80::1%lo");
}

TEST(BindAddress, APortOfEveryInterface) {
  EXPECT_EQ(parsed(":8000"), (BindAddress{"", 8000, ""}));
  EXPECT_EQ(parsed("*:8000"), (BindAddress{"", 8000, ""}));
}

TEST(BindAddress, UnixSockets) {
  EXPECT_EQ(parsed("unix:/run/app.sock"), (BindAddress{"", 0, "/run/app.sock"}));
  EXPECT_EQ(parsed("unix:///run/app.sock").path, "/run/app.sock");
  EXPECT_EQ(parsed("unix:app.sock").path, "app.sock");
  EXPECT_EQ(parsed("UNIX:/run/app.sock").path, "/run/app.sock");
  EXPECT_TRUE(parsed("unix:/x").is_unix());
  EXPECT_FALSE(parsed(":1").is_unix());
}

TEST(BindAddress, IsWrittenAsItIsRead) {
  for (const char* text : {"127.0.0.1:8000", "[::1]:8000", ":8000", "unix:/run/app.sock", "name:0"}) {
    EXPECT_EQ(parsed(text).text(), text);
  }
}

TEST(BindAddress, ABarePortNamesBothChoices) {
  EXPECT_THAT(refused("8000"), ::testing::AllOf(::testing::HasSubstr("127.0.0.1:8000"),
                                                ::testing::HasSubstr(" :8000 for every interface")));
}

TEST(BindAddress, AHostWithoutAPortIsToldHow) {
  EXPECT_THAT(refused("localhost"), ::testing::HasSubstr("write localhost:8000"));
  EXPECT_THAT(refused("[::1]"), ::testing::HasSubstr("write [::1]:8000"));
}

TEST(BindAddress, Ipv6WithoutBracketsIsAmbiguous) {
  EXPECT_THAT(refused("::1:8000"), ::testing::HasSubstr("brackets"));
  EXPECT_THAT(refused("::1"), ::testing::HasSubstr("brackets"));
}

TEST(BindAddress, PortsOutOfRangeOrNotNumbers) {
  for (const char* text :
       {"h:65536", "h:-1", "h:+1", "h: 1", "h:1 ", "h:0x10", "h:http", "h:", "[::1]:", "h:99999999999"}) {
    EXPECT_THAT(refused(text), ::testing::HasSubstr("no port from 0 to 65535")) << text;
  }
}

TEST(BindAddress, NonsenseIsRefused) {
  for (const char* text : {"", "[::1", "[]:1", "[1.2.3.4]:1", "[::1]8000", "a b:1", "a/b:1", "http://a:1"}) {
    EXPECT_NE(refused(text), "") << text;
  }
}

TEST(BindAddress, UnixPathsThatCannotBe) {
  EXPECT_THAT(refused("unix:"), ::testing::HasSubstr("write unix:/run/app.sock"));
  EXPECT_THAT(refused("unix://"), ::testing::HasSubstr("names no file"));
  EXPECT_THAT(refused("unix:@abstract"), ::testing::HasSubstr("abstract"));
  EXPECT_THAT(refused("unix:/" + std::string(107, 'x')), ::testing::HasSubstr("at most 107 bytes"));
  EXPECT_EQ(parsed("unix:/" + std::string(106, 'x')).path.size(), 107U);
}

TEST(BindAddressResolve, EveryInterfaceIsOneDualAddress) {
  const auto found = resolve(parsed(":8000"));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().family(), AF_INET6);
  EXPECT_TRUE(found->front().is_any());
  EXPECT_EQ(found->front().port(), 8000);
}

TEST(BindAddressResolve, NumbersNeedNoResolver) {
  const auto v4 = resolve(parsed("127.0.0.1:80"));
  ASSERT_TRUE(v4);
  ASSERT_EQ(v4->size(), 1U);
  EXPECT_EQ(v4->front().family(), AF_INET);
  EXPECT_FALSE(v4->front().is_any());
  const auto any = resolve(parsed("0.0.0.0:80"));
  ASSERT_TRUE(any);
  EXPECT_TRUE(any->front().is_any());
}

TEST(BindAddressResolve, LocalhostHasEachAddressOnce) {
  const auto found = resolve(parsed("localhost:80"));
  ASSERT_TRUE(found) << found.error();
  EXPECT_GE(found->size(), 1U);
  EXPECT_LE(std::ranges::count_if(*found, [](const SocketAddress& at) { return at.family() == AF_INET; }), 1);
}

TEST(BindAddressResolve, ANameThatDoesNotExistIsASentence) {
  const auto found = resolve(parsed("no-such-host.invalid:80"));
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error(), ::testing::HasSubstr("'no-such-host.invalid:80' cannot be found"));
}

TEST(BindAddressResolve, ThePortCanBeChanged) {
  for (const char* text : {"127.0.0.1:1", "[::1]:1"}) {
    auto found = resolve(parsed(text));
    ASSERT_TRUE(found);
    found->front().set_port(4711);
    EXPECT_EQ(found->front().port(), 4711);
  }
}

}  // namespace
}  // namespace m0::net
