// Field lines: RFC 9112 section 5, RFC 9110 section 5.

#include "m0/http/cases_test.hpp"

namespace m0::http {
namespace {

using testing::Case;
using testing::get;
using namespace std::string_literals;

const std::vector<Case> kFields = {
    {"one", get("A: b\r\n"), "GET / host=a {A=b}; end"},
    {"order and repeats are kept", get("B: 1\r\nA: 2\r\nb: 3\r\n"), "GET / host=a {B=1} {A=2} {b=3}; end"},
    {"no space behind the colon", get("A:b\r\n"), "GET / host=a {A=b}; end"},
    {"whitespace around the value", get("A: \t b \t \r\n"), "GET / host=a {A=b}; end"},
    {"whitespace inside the value", get("A: b \t c\r\n"), "GET / host=a {A=b \t c}; end"},
    {"empty value", get("A:\r\n"), "GET / host=a {A=}; end"},
    {"value of whitespace", get("A:  \t\r\n"), "GET / host=a {A=}; end"},
    {"colons in the value", get("A: b:c:\r\n"), "GET / host=a {A=b:c:}; end"},
    {"obs-text in the value", get("A: \xc3\xa9\x80\xff\r\n"), "GET / host=a {A=\xc3\xa9\x80\xff}; end"},
    {"every tchar in the name", get("aZ09!#$%&'*+-.^_`|~: b\r\n"), "GET / host=a {aZ09!#$%&'*+-.^_`|~=b}; end"},
    {"value longer than one load", get("A: " + std::string(50, 'v') + "\r\n"),
     "GET / host=a {A=" + std::string(50, 'v') + "}; end"},
    {"Upgrade is a field like others", get("Upgrade: h2c\r\n"), "GET / host=a {Upgrade=h2c}; end"},

    {"space before the colon", get("A : b\r\n"), "400 malformed field name"},
    {"tab before the colon", get("A\t: b\r\n"), "400 malformed field name"},
    {"space before the name", get(" A: b\r\n"), "400 line folding"},
    {"folded line", get("A: b\r\n c\r\n"), "400 line folding"},
    {"folded line with a tab", get("A: b\r\n\tc\r\n"), "400 line folding"},
    {"fold behind the request line", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", "400 line folding"},
    {"line of whitespace", get("A: b\r\n \r\n"), "400 line folding"},
    {"no colon", get("Ab\r\n"), "400 malformed field name"},
    {"no name", get(": b\r\n"), "400 malformed field name"},
    {"space in the name", get("A b: c\r\n"), "400 malformed field name"},
    {"slash in the name", get("A/b: c\r\n"), "400 malformed field name"},
    {"parenthesis in the name", get("A(b: c\r\n"), "400 malformed field name"},
    {"quote as the name", get("\"A\": c\r\n"), "400 malformed field name"},
    {"obs-text in the name", get("\xc3\xa9: c\r\n"), "400 malformed field name"},
    {"NUL in the name", get("A\0b: c\r\n"s), "400 malformed field name"},
    {"CR in the name", get("A\rb: c\r\n"), "400 malformed field name"},
    {"NUL in the value", get("A: b\0c\r\n"s), "400 control character in a field value"},
    {"CR in the value", get("A: b\rc\r\n"), "400 bare CR"},
    {"two CR behind the value", get("A: b\r\r\n"), "400 bare CR"},
    {"bare LF behind the value", get("A: b\nC: d\r\n"), "400 bare LF"},
    {"bare LF that ends the input", "GET / HTTP/1.1\r\nHost: a\n", "400 bare LF"},
    {"bare LF behind the colon", get("A:\nC: d\r\n"), "400 bare LF"},
    {"ESC in the value", get("A: \x1b[0m\r\n"), "400 control character in a field value"},
    {"DEL in the value", get("A: \x7f\r\n"), "400 control character in a field value"},
    {"vertical tab in the value", get("A: b\vc\r\n"), "400 control character in a field value"},
    {"form feed behind the value", get("A: b\f\r\n"), "400 control character in a field value"},
    {"control late in a long value", get("A: " + std::string(40, 'v') + "\x01\r\n"),
     "400 control character in a field value"},
    {"bare LF as the empty line", "GET / HTTP/1.1\r\nHost: a\r\n\n", "400 bare LF"},
    {"bare CR as the empty line", "GET / HTTP/1.1\r\nHost: a\r\n\rX\n", "400 bare CR"},
    {"a bad line is refused before the head ends", "GET / HTTP/1.1\r\nA b: c\r\n", "400 malformed field name"},
    {"a bad byte waits for its line", "GET / HTTP/1.1\r\nA b: c", "waiting"},
    {"no empty line yet", "GET / HTTP/1.1\r\nHost: a\r\n", "waiting"},
};

const std::vector<Case> kHosts = {
    {"name", get(""), "GET / host=a; end"},
    {"port", "GET / HTTP/1.1\r\nHost: a:80\r\n\r\n", "GET / host=a:80; end"},
    {"empty port", "GET / HTTP/1.1\r\nHost: a:\r\n\r\n", "GET / host=a:; end"},
    {"greatest port", "GET / HTTP/1.1\r\nHost: a:65535\r\n\r\n", "GET / host=a:65535; end"},
    {"case of the name", "GET / HTTP/1.1\r\nhOST: a\r\n\r\n", "GET / host=a; end"},
    {"IPv4", "GET / HTTP/1.1\r\nHost: 127.0.0.1:8\r\n\r\n", "GET / host=127.0.0.1:8; end"},
    {"IPv6", "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", "GET / host=[::1]; end"},
    {"IPv6 and port", "GET / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n", "GET / host=[2001:db8::1]:80; end"},
    {"underscore", "GET / HTTP/1.1\r\nHost: a_b.c-d~\r\n\r\n", "GET / host=a_b.c-d~; end"},
    {"percent-encoded", "GET / HTTP/1.1\r\nHost: %c3%a9\r\n\r\n", "GET / host=%c3%a9; end"},
    {"none on HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "GET / 1.0 close; end"},
    {"none", "GET / HTTP/1.1\r\n\r\n", "400 no Host"},
    {"none on 1.2", "GET / HTTP/1.2\r\nA: b\r\n\r\n", "400 no Host"},
    {"empty", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "400 empty Host"},
    {"empty on HTTP/1.0", "GET / HTTP/1.0\r\nHost: \r\n\r\n", "400 empty Host"},
    {"twice", get("Host: b\r\n"), "400 more than one Host"},
    {"twice the same", get("host: a\r\n"), "400 more than one Host"},
    {"twice on HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", "400 more than one Host"},
    {"space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400 malformed Host"},
    {"comma separated names are one name", "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", "GET / host=a,b; end"},
    {"path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "400 malformed Host"},
    {"scheme", "GET / HTTP/1.1\r\nHost: http://a\r\n\r\n", "400 malformed Host"},
    {"userinfo", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "400 malformed Host"},
    {"query", "GET / HTTP/1.1\r\nHost: a?b\r\n\r\n", "400 malformed Host"},
    {"fragment", "GET / HTTP/1.1\r\nHost: a#b\r\n\r\n", "400 malformed Host"},
    {"quote", "GET / HTTP/1.1\r\nHost: a\"b\r\n\r\n", "400 malformed Host"},
    {"backslash", "GET / HTTP/1.1\r\nHost: a\\b\r\n\r\n", "400 malformed Host"},
    {"raw UTF-8", "GET / HTTP/1.1\r\nHost: \xc3\xa9\r\n\r\n", "400 malformed Host"},
    {"port alone", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n", "400 malformed Host"},
    {"letters as a port", "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", "400 malformed Host"},
    {"two ports", "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n", "400 malformed Host"},
    {"port too great", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", "400 malformed Host"},
    {"port that overflows", "GET / HTTP/1.1\r\nHost: a:99999999999999999999\r\n\r\n", "400 malformed Host"},
    {"signed port", "GET / HTTP/1.1\r\nHost: a:+80\r\n\r\n", "400 malformed Host"},
    {"broken percent", "GET / HTTP/1.1\r\nHost: a%c\r\n\r\n", "400 malformed Host"},
    {"percent without hex", "GET / HTTP/1.1\r\nHost: a%zz\r\n\r\n", "400 malformed Host"},
    {"IPv6 without brackets", "GET / HTTP/1.1\r\nHost: ::1\r\n\r\n", "400 malformed Host"},
    {"bracket not closed", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "400 malformed Host"},
    {"brackets around a name", "GET / HTTP/1.1\r\nHost: [a]\r\n\r\n", "400 malformed Host"},
    {"empty brackets", "GET / HTTP/1.1\r\nHost: []\r\n\r\n", "400 malformed Host"},
    {"text behind the brackets", "GET / HTTP/1.1\r\nHost: [::1]a\r\n\r\n", "400 malformed Host"},
    {"a long address in brackets", "GET / HTTP/1.1\r\nHost: [" + std::string(60, '1') + "]\r\n\r\n",
     "400 malformed Host"},
    {"absolute-form replaces it", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://b/ host=b absolute; end"},
    {"absolute-form excuses no bad one", "GET http://b/ HTTP/1.1\r\nHost: a b\r\n\r\n", "400 malformed Host"},
};

M0_HTTP_CASES(FieldLine, true, kFields);
M0_HTTP_CASES(Host, false, kHosts);

}  // namespace
}  // namespace m0::http
