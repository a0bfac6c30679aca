// The request line: RFC 9112 sections 2.2, 2.3 and 3.

#include "m0/http/cases_test.hpp"

namespace m0::http {
namespace {

using testing::Case;
using namespace std::string_literals;

const std::string kRest = "\r\nHost: a\r\n\r\n";

const std::vector<Case> kMethods = {
    {"GET", "GET / HTTP/1.1" + kRest, "GET / host=a; end"},
    {"HEAD", "HEAD / HTTP/1.1" + kRest, "HEAD / host=a; end"},
    {"a method nobody knows", "PROPFIND / HTTP/1.1" + kRest, "PROPFIND / host=a; end"},
    {"lower case is another method", "get / HTTP/1.1" + kRest, "get / host=a; end"},
    {"every tchar", "aZ09!#$%&'*+-.^_`|~ / HTTP/1.1" + kRest, "aZ09!#$%&'*+-.^_`|~ / host=a; end"},
    {"one letter", "X / HTTP/1.1" + kRest, "X / host=a; end"},
    {"CONNECT", "CONNECT a:443 HTTP/1.1" + kRest, "501 CONNECT is for proxies"},
    {"CONNECT with a path", "CONNECT / HTTP/1.1" + kRest, "501 CONNECT is for proxies"},
    {"connect in lower case is no CONNECT", "connect / HTTP/1.1" + kRest, "connect / host=a; end"},
    {"parenthesis in a method", "GE(T / HTTP/1.1" + kRest, "400 malformed method"},
    {"colon in a method", "GET: / HTTP/1.1" + kRest, "400 malformed method"},
    {"obs-text in a method", "GET\xc3\xa9 / HTTP/1.1" + kRest, "400 malformed method"},
    {"NUL in a method", "G\0T / HTTP/1.1"s + kRest, "400 malformed method"},
    {"tab behind the method", "GET\t/ HTTP/1.1" + kRest, "400 malformed method"},
    {"method alone", "GET\r\n\r\n", "400 malformed method"},
    {"first byte of a TLS record", "\x16", "400 malformed method"},
    {"first byte NUL", "\0"s, "400 malformed method"},
    {"first byte a space", " ", "400 malformed method"},
    {"first byte a quote", "\"", "400 malformed method"},
    {"first byte a brace", "{", "400 malformed method"},
    {"first byte above ASCII", "\xff", "400 malformed method"},
    {"nothing but a method so far", "GE", "waiting"},
};

const std::vector<Case> kTargets = {
    {"path and query", "GET /a/b?c=d HTTP/1.1" + kRest, "GET /a/b?c=d host=a; end"},
    {"empty query", "GET /? HTTP/1.1" + kRest, "GET /? host=a; end"},
    {"encoded bytes stay as they are", "GET /%2F%00%zz HTTP/1.1" + kRest, "GET /%2F%00%zz host=a; end"},
    {"dot segments stay", "GET /../a//b/. HTTP/1.1" + kRest, "GET /../a//b/. host=a; end"},
    {"bytes that browsers send raw", "GET /\"<>\\^`{|}[] HTTP/1.1" + kRest, "GET /\"<>\\^`{|}[] host=a; end"},
    {"raw UTF-8", "GET /\xc3\xa9 HTTP/1.1" + kRest, "GET /\xc3\xa9 host=a; end"},
    {"C1 bytes are no controls here", "GET /\x80\x9f\xff HTTP/1.1" + kRest, "GET /\x80\x9f\xff host=a; end"},
    {"two slashes are a path, no authority", "GET //b/c HTTP/1.1" + kRest, "GET //b/c host=a; end"},
    {"long target", "GET /" + std::string(100, 'x') + " HTTP/1.1" + kRest,
     "GET /" + std::string(100, 'x') + " host=a; end"},
    {"fragment", "GET /a#b HTTP/1.1" + kRest, "400 malformed request target"},
    {"tab in the target", "GET /a\tb HTTP/1.1" + kRest, "400 malformed request target"},
    {"DEL in the target", "GET /a\x7f HTTP/1.1" + kRest, "400 malformed request target"},
    {"NUL in the target", "GET /a\0b HTTP/1.1"s + kRest, "400 malformed request target"},
    {"ESC in the target", "GET /a\x1b HTTP/1.1" + kRest, "400 malformed request target"},
    {"control late in a long target", "GET /" + std::string(40, 'x') + "\x01 HTTP/1.1" + kRest,
     "400 malformed request target"},
    {"CR in the target", "GET /a\rb HTTP/1.1" + kRest, "400 malformed request target"},
    {"space in the target", "GET /a b HTTP/1.1" + kRest, "400 malformed HTTP version"},
    {"no target", "GET HTTP/1.1" + kRest, "400 malformed request target"},
    {"empty target", "GET  HTTP/1.1" + kRest, "400 malformed request target"},
    {"two spaces before the target", "GET  / HTTP/1.1" + kRest, "400 malformed request target"},
    {"relative target", "GET a HTTP/1.1" + kRest, "400 malformed request target"},
    {"query without a path", "GET ?a HTTP/1.1" + kRest, "400 malformed request target"},
    {"authority-form without CONNECT", "GET a:80 HTTP/1.1" + kRest, "400 malformed request target"},
    {"asterisk", "OPTIONS * HTTP/1.1" + kRest, "OPTIONS * host=a asterisk; end"},
    {"asterisk without OPTIONS", "GET * HTTP/1.1" + kRest, "400 asterisk-form without OPTIONS"},
    {"asterisk and more", "OPTIONS *a HTTP/1.1" + kRest, "400 malformed request target"},
    {"OPTIONS of a path", "OPTIONS /a HTTP/1.1" + kRest, "OPTIONS /a host=a; end"},
    {"absolute", "GET http://b/c?d HTTP/1.1" + kRest, "GET http://b/c?d host=b absolute; end"},
    {"absolute without a path", "GET http://b HTTP/1.1" + kRest, "GET http://b host=b absolute; end"},
    {"absolute with a query alone", "GET http://b?c HTTP/1.1" + kRest, "GET http://b?c host=b absolute; end"},
    {"absolute with a port", "GET http://b:81/ HTTP/1.1" + kRest, "GET http://b:81/ host=b:81 absolute; end"},
    {"absolute, https", "GET https://b/ HTTP/1.1" + kRest, "GET https://b/ host=b absolute; end"},
    {"absolute, scheme in capitals", "GET HTTP://b/ HTTP/1.1" + kRest, "GET HTTP://b/ host=b absolute; end"},
    {"absolute on HTTP/1.0 without Host", "GET http://b/ HTTP/1.0\r\n\r\n",
     "GET http://b/ host=b 1.0 absolute close; end"},
    {"absolute on HTTP/1.1 needs Host too", "GET http://b/ HTTP/1.1\r\n\r\n", "400 no Host"},
    {"absolute with an IPv6 address", "GET http://[::1]:8/ HTTP/1.1" + kRest,
     "GET http://[::1]:8/ host=[::1]:8 absolute; end"},
    {"absolute with userinfo", "GET http://u@b/ HTTP/1.1" + kRest, "400 malformed request target"},
    {"absolute without an authority", "GET http:///a HTTP/1.1" + kRest, "400 malformed request target"},
    {"absolute with a bad port", "GET http://b:x/ HTTP/1.1" + kRest, "400 malformed request target"},
    {"absolute of another scheme", "GET ftp://b/ HTTP/1.1" + kRest, "400 malformed request target"},
    {"scheme with one slash", "GET http:/b HTTP/1.1" + kRest, "400 malformed request target"},
};

const std::vector<Case> kVersions = {
    {"1.0", "GET / HTTP/1.0\r\n\r\n", "GET / 1.0 close; end"},
    {"1.0 with Host", "GET / HTTP/1.0" + kRest, "GET / host=a 1.0 close; end"},
    {"1.2 is served as 1.1", "GET / HTTP/1.2" + kRest, "GET / host=a; end"},
    {"1.9 is served as 1.1", "GET / HTTP/1.9" + kRest, "GET / host=a; end"},
    {"0.9 by name", "GET / HTTP/0.9" + kRest, "505 HTTP version not supported"},
    {"2.0", "GET / HTTP/2.0" + kRest, "505 HTTP version not supported"},
    {"3.1", "GET / HTTP/3.1" + kRest, "505 HTTP version not supported"},
    {"9.9", "GET / HTTP/9.9" + kRest, "505 HTTP version not supported"},
    {"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 HTTP version not supported"},
    {"0.9 by form", "GET /\r\n", "400 malformed request target"},
    {"no minor version", "GET / HTTP/1\r\n\r\n", "400 malformed HTTP version"},
    {"two digits", "GET / HTTP/1.10" + kRest, "400 malformed end of the request line"},
    {"two digits in the major version", "GET / HTTP/11.1" + kRest, "400 malformed HTTP version"},
    {"lower case", "GET / http/1.1" + kRest, "400 malformed HTTP version"},
    {"another protocol", "GET / ICY/1.1 " + kRest, "400 malformed HTTP version"},
    {"letter as the version", "GET / HTTP/1.x" + kRest, "400 malformed HTTP version"},
    {"letter as the major version", "GET / HTTP/x.1" + kRest, "400 malformed HTTP version"},
    {"comma in the version", "GET / HTTP/1,1" + kRest, "400 malformed HTTP version"},
    {"no version behind the space", "GET / " + kRest, "400 malformed HTTP version"},
    {"two spaces before the version", "GET /  HTTP/1.1" + kRest, "400 malformed HTTP version"},
    {"space behind the version", "GET / HTTP/1.1 " + kRest, "400 malformed end of the request line"},
    {"more behind the version", "GET / HTTP/1.1 x" + kRest, "400 malformed end of the request line"},
    {"version not complete", "GET / HTTP/1.", "waiting"},
};

const std::vector<Case> kLineEnds = {
    {"bare LF behind the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", "400 malformed end of the request line"},
    {"bare LF everywhere", "GET / HTTP/1.1\nHost: a\n\n", "400 malformed end of the request line"},
    {"bare CR behind the request line", "GET / HTTP/1.1\rHost: a\r\n\r\n", "400 malformed end of the request line"},
    {"two CR behind the request line", "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", "400 malformed end of the request line"},
    {"one empty line first", "\r\nGET / HTTP/1.1" + kRest, "GET / host=a; end"},
    {"four empty lines first", "\r\n\r\n\r\n\r\nGET / HTTP/1.1" + kRest, "GET / host=a; end"},
    {"five empty lines first", "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1" + kRest,
     "400 too many empty lines before a request"},
    {"four empty lines before each of two",
     "\r\n\r\n\r\n\r\nGET /1 HTTP/1.1" + kRest + "\r\n\r\n\r\n\r\nGET /2 HTTP/1.1" + kRest,
     "GET /1 host=a; end; GET /2 host=a; end"},
    {"an empty line is no request yet", "\r\n", ""},
    {"a CR is no request yet", "\r", ""},
    {"bare LF first", "\nGET / HTTP/1.1" + kRest, "400 malformed method"},
    {"bare CR first", "\rGET / HTTP/1.1" + kRest, "400 bare CR"},
    {"bare LF behind an empty line", "\r\n\nGET / HTTP/1.1" + kRest, "400 malformed method"},
    {"nothing", "", ""},
};

M0_HTTP_CASES(Method, false, kMethods);
M0_HTTP_CASES(Target, false, kTargets);
M0_HTTP_CASES(HttpVersion, false, kVersions);
M0_HTTP_CASES(LineEnd, false, kLineEnds);

}  // namespace
}  // namespace m0::http
