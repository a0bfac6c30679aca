#include "m0/python/environ.hpp"

#include <gtest/gtest.h>

#include "m0/python/harness_test.hpp"

namespace m0::python::testing {
namespace {

/// Keeps the environ of the last request as `last`.
class EnvironTest : public ::testing::Test {
 protected:
  EnvironTest()
      : script_(R"(
last = None
def app(environ, start_response):
    global last
    last = dict(environ)
    start_response('200 OK', [])
    return []
)"),
        host_(script_.get("app")) {}

  void ask(const Ask& request) { EXPECT_EQ(host_.ask(request).status, 200); }
  std::string value(const std::string& key) { return script_.eval("repr(last.get('" + key + "'))"); }

  Script script_;
  Host host_;
};

TEST_F(EnvironTest, HasWhatThePepAsksFor) {
  ask({.target = "/a/b?x=1&y=%20"});
  EXPECT_EQ(value("REQUEST_METHOD"), "'GET'");
  EXPECT_EQ(value("SCRIPT_NAME"), "''");
  EXPECT_EQ(value("PATH_INFO"), "'/a/b'");
  EXPECT_EQ(value("QUERY_STRING"), "'x=1&y=%20'");
  EXPECT_EQ(value("REQUEST_URI"), "'/a/b?x=1&y=%20'");
  EXPECT_EQ(value("SERVER_NAME"), "'127.0.0.1'");
  EXPECT_EQ(value("SERVER_PORT"), "'8000'");
  EXPECT_EQ(value("SERVER_PROTOCOL"), "'HTTP/1.1'");
  EXPECT_EQ(value("SERVER_SOFTWARE"), "'m0serve/" M0_VERSION "'");
  EXPECT_EQ(value("HTTP_HOST"), "'example.org'");
  EXPECT_EQ(value("REMOTE_ADDR"), "'192.0.2.7'");
  EXPECT_EQ(value("REMOTE_PORT"), "'40000'");
  EXPECT_EQ(value("wsgi.version"), "(1, 0)");
  EXPECT_EQ(value("wsgi.url_scheme"), "'http'");
  EXPECT_EQ(value("wsgi.multithread"), "True");
  EXPECT_EQ(value("wsgi.multiprocess"), "False");
  EXPECT_EQ(value("wsgi.run_once"), "False");
  EXPECT_EQ(value("wsgi.input_terminated"), "True");
  EXPECT_EQ(script_.eval("type(last)"), "<class 'dict'>");
  EXPECT_EQ(script_.eval("all(type(k) is str for k in last)"), "True");
  EXPECT_EQ(value("CONTENT_LENGTH"), "None");
  EXPECT_EQ(value("CONTENT_TYPE"), "None");
}

TEST_F(EnvironTest, ARequestLeavesNothingForTheNext) {
  ask({.method = "POST",
       .target = "/first?q",
       .fields = {{"Host", "a"}, {"X-Own", "1"}, {"Cookie", "c=1"}, {"Content-Type", "text/x"}},
       .body = "abc",
       .version = http::Version::Http10});
  EXPECT_EQ(value("SERVER_PROTOCOL"), "'HTTP/1.0'");
  EXPECT_EQ(value("CONTENT_LENGTH"), "'3'");
  EXPECT_EQ(value("CONTENT_TYPE"), "'text/x'");
  ask({.target = "/", .fields = {}});
  EXPECT_EQ(value("REQUEST_METHOD"), "'GET'");
  EXPECT_EQ(value("PATH_INFO"), "'/'");
  EXPECT_EQ(value("QUERY_STRING"), "''");
  EXPECT_EQ(value("SERVER_PROTOCOL"), "'HTTP/1.1'");
  for (const char* key : {"HTTP_HOST", "HTTP_X_OWN", "HTTP_COOKIE", "CONTENT_TYPE", "CONTENT_LENGTH"}) {
    EXPECT_EQ(value(key), "None") << key;
  }
  EXPECT_EQ(script_.eval("last['wsgi.input'].read()"), "b''");
}

TEST_F(EnvironTest, AnApplicationCannotChangeTheTemplate) {
  ask({});
  const std::string before = script_.eval("sorted(last)");
  Script spoil(R"(
def app(environ, start_response):
    environ.clear()
    environ['evil'] = 1
    start_response('200 OK', [])
    return []
)");
  Host host(spoil.get("app"));
  host.ask({});
  ask({});
  EXPECT_EQ(script_.eval("sorted(last)"), before);
}

TEST_F(EnvironTest, PathIsPercentDecodedToLatin1Bytes) {
  ask({.target = "/%C3%BC%2f%00%zz%4"});
  EXPECT_EQ(value("PATH_INFO"), R"('/Ã¼/\x00%zz%4')");
  EXPECT_EQ(value("REQUEST_URI"), "'/%C3%BC%2f%00%zz%4'");
  ask({.target = "/\xc3\xbc?\xff"});
  EXPECT_EQ(value("PATH_INFO"), "'/Ã¼'");
  EXPECT_EQ(value("QUERY_STRING"), "'ÿ'");
}

TEST_F(EnvironTest, TheSamePathTwiceIsNotConfusedWithItsEncodedForm) {
  ask({.target = "/%41"});
  ask({.target = "/A"});
  EXPECT_EQ(value("PATH_INFO"), "'/A'");
  EXPECT_EQ(value("REQUEST_URI"), "'/A'");
  ask({.target = "/%41"});
  EXPECT_EQ(value("PATH_INFO"), "'/A'");
  EXPECT_EQ(value("REQUEST_URI"), "'/%41'");
}

TEST_F(EnvironTest, AMountIsTheScriptsName) {
  ask({.target = "/shop/a%20b?q", .mount_length = 5});
  EXPECT_EQ(value("SCRIPT_NAME"), "'/shop'");
  EXPECT_EQ(value("PATH_INFO"), "'/a b'");
  EXPECT_EQ(value("REQUEST_URI"), "'/shop/a%20b?q'");
  EXPECT_EQ(value("QUERY_STRING"), "'q'");
  ask({.target = "/shop", .mount_length = 5});
  EXPECT_EQ(value("SCRIPT_NAME"), "'/shop'");
  EXPECT_EQ(value("PATH_INFO"), "''");
  ask({.target = "/shop/"});
  EXPECT_EQ(value("SCRIPT_NAME"), "''");
  EXPECT_EQ(value("PATH_INFO"), "'/shop/'");
}

TEST_F(EnvironTest, AMountIsDecodedLikeThePath) {
  ask({.target = "/%73hop/%C3%BC", .mount_length = 7});
  EXPECT_EQ(value("SCRIPT_NAME"), "'/shop'");
  EXPECT_EQ(value("PATH_INFO"), "'/Ã¼'");
  EXPECT_EQ(value("REQUEST_URI"), "'/%73hop/%C3%BC'");
  ask({.target = "/gr%C3%BCn/x", .mount_length = 10});
  EXPECT_EQ(value("SCRIPT_NAME"), "'/grÃ¼n'");
  EXPECT_EQ(value("PATH_INFO"), "'/x'");
}

TEST_F(EnvironTest, LongPathsAreRight) {
  const std::string path = "/" + std::string(1000, 'p');
  ask({.target = path});
  EXPECT_EQ(value("PATH_INFO"), "'" + path + "'");
  ask({.target = path + "q"});
  EXPECT_EQ(value("PATH_INFO"), "'" + path + "q'");
}

TEST_F(EnvironTest, RepeatedFieldsAreJoined) {
  ask({.fields = {{"Host", "h"},
                  {"Accept", "a"},
                  {"X-Mine", "1"},
                  {"accept", "b"},
                  {"x-mine", "2"},
                  {"Cookie", "c=1"},
                  {"ACCEPT", "c"},
                  {"cookie", "d=2"}}});
  EXPECT_EQ(value("HTTP_ACCEPT"), "'a,b,c'");
  EXPECT_EQ(value("HTTP_X_MINE"), "'1,2'");
  EXPECT_EQ(value("HTTP_COOKIE"), "'c=1; d=2'");
}

TEST_F(EnvironTest, UnderscoresAndProxyNeverArrive) {
  ask({.fields = {{"Host", "h"},
                  {"X_Forwarded_For", "evil"},
                  {"Content_Length", "9"},
                  {"User_Agent", "evil"},
                  {"Proxy", "http://evil"},
                  {"PROXY", "http://evil"},
                  {"X-Forwarded-For", "good"}}});
  EXPECT_EQ(value("HTTP_X_FORWARDED_FOR"), "'good'");
  EXPECT_EQ(value("HTTP_PROXY"), "None");
  EXPECT_EQ(value("HTTP_USER_AGENT"), "None");
  EXPECT_EQ(script_.eval("'evil' in repr(last)"), "False");
  EXPECT_EQ(value("CONTENT_LENGTH"), "None");
}

TEST_F(EnvironTest, ManyFieldsAllArrive) {
  Ask request{.fields = {{"Host", "h"}}};
  for (int i = 0; i < 90; ++i) request.fields.emplace_back("X-Field-" + std::to_string(i), std::to_string(i));
  ask(request);
  EXPECT_EQ(script_.eval("all(last[f'HTTP_X_FIELD_{i}'] == str(i) for i in range(90))"), "True");
}

TEST_F(EnvironTest, FieldValuesAreLatin1) {
  ask({.fields = {{"Host", "h"}, {"User-Agent", "\xe9\xff"}, {"X-Raw", "\x80"}}});
  EXPECT_EQ(script_.eval("last['HTTP_USER_AGENT'].encode('latin-1').hex()"), "e9ff");
  EXPECT_EQ(script_.eval("last['HTTP_X_RAW'].encode('latin-1').hex()"), "80");
}

TEST_F(EnvironTest, ValuesThatChangeAreNotStale) {
  for (const char* agent : {"one", "two", "two", "", "one"}) {
    ask({.fields = {{"Host", "h"}, {"User-Agent", agent}}});
    EXPECT_EQ(value("HTTP_USER_AGENT"), "'" + std::string(agent) + "'");
  }
}

TEST_F(EnvironTest, AClientsFieldNameIsNotInterned) {
  ask({.fields = {{"Host", "h"}, {"X-Never-Seen-Before", "1"}}});
  // sys.intern gives back its argument unless an equal string is interned already.
  EXPECT_EQ(script_.eval("(lambda s: __import__('sys').intern(s) is s)(''.join(['HTTP_X_NEVER', '_SEEN_BEFORE']))"),
            "True");
}

TEST_F(EnvironTest, AbsoluteFormReplacesHost) {
  ask({.target = "http://real.example/x",
       .fields = {{"Host", "other.example"}},
       .form = http::TargetForm::Absolute,
       .authority = "real.example"});
  EXPECT_EQ(value("HTTP_HOST"), "'real.example'");
  EXPECT_EQ(value("REQUEST_URI"), "'http://real.example/x'");
}

TEST_F(EnvironTest, AsteriskFormHasNoPath) {
  ask({.method = "OPTIONS", .target = "*", .form = http::TargetForm::Asterisk});
  EXPECT_EQ(value("PATH_INFO"), "''");
  EXPECT_EQ(value("REQUEST_URI"), "'*'");
}

TEST_F(EnvironTest, ADecodedChunkedBodyHasALengthAndNoCoding) {
  ask({.method = "POST",
       .fields = {{"Host", "h"}, {"Transfer-Encoding", "chunked"}},
       .body = "12345",
       .chunked = true});
  EXPECT_EQ(value("CONTENT_LENGTH"), "'5'");
  EXPECT_EQ(value("HTTP_TRANSFER_ENCODING"), "None");
  EXPECT_EQ(value("HTTP_CONTENT_LENGTH"), "None");
}

TEST_F(EnvironTest, PeersAreToldApart) {
  host_.peer.bytes = {10, 0, 0, 1};
  host_.peer.port = 1000;
  ask({});
  EXPECT_EQ(value("REMOTE_ADDR") + value("REMOTE_PORT"), "'10.0.0.1''1000'");
  host_.peer.port = 1128;  // the same place in the table of ports
  ask({});
  EXPECT_EQ(value("REMOTE_ADDR") + value("REMOTE_PORT"), "'10.0.0.1''1128'");
  host_.peer.bytes = {10, 0, 0, 2};
  ask({});
  EXPECT_EQ(value("REMOTE_ADDR"), "'10.0.0.2'");
  host_.peer.family = handler::PeerAddress::Family::V6;
  host_.peer.bytes = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  ask({});
  EXPECT_EQ(value("REMOTE_ADDR"), "'2001:db8::1'");
}

TEST_F(EnvironTest, AUnixPeerIsAnEmptyString) {
  host_.peer = {};
  host_.listener = {"/run/app.sock", "", true};
  ask({});
  EXPECT_EQ(value("REMOTE_ADDR"), "''");
  EXPECT_EQ(value("REMOTE_PORT"), "''");
  EXPECT_EQ(value("SERVER_NAME"), "'/run/app.sock'");
  EXPECT_NE(value("SERVER_PORT"), "''");
}

TEST_F(EnvironTest, EachListenerHasItsOwnName) {
  handler::ListenerInfo other{"::1", "9000", false};
  ask({});
  EXPECT_EQ(value("SERVER_PORT"), "'8000'");
  host_.before = [&](handler::Exchange& exchange) { exchange.listener = &other; };
  ask({});
  EXPECT_EQ(value("SERVER_NAME") + value("SERVER_PORT"), "'::1''9000'");
  host_.before = nullptr;
  ask({});
  EXPECT_EQ(value("SERVER_PORT"), "'8000'");
}

}  // namespace
}  // namespace m0::python::testing
