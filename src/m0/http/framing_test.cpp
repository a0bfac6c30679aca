// Where a body ends, and whether another request follows: RFC 9112 sections 6, 6.3 and 9.3, RFC 9110 8.6 and 10.1.1.

#include "m0/http/cases_test.hpp"

namespace m0::http {
namespace {

using testing::Case;
using testing::get;
using testing::post;

const std::vector<Case> kLengths = {
    {"three", post("Content-Length: 3\r\n", "abc"), "POST / host=a length=3; body(abc); end"},
    {"zero", post("Content-Length: 0\r\n", ""), "POST / host=a length=0; end"},
    {"none is no body", post("", ""), "POST / host=a; end"},
    {"leading zeros", post("Content-Length: 003\r\n", "abc"), "POST / host=a length=3; body(abc); end"},
    {"whitespace around", post("Content-Length:  3 \t\r\n", "abc"), "POST / host=a length=3; body(abc); end"},
    {"case of the name", post("CONTENT-length: 3\r\n", "abc"), "POST / host=a length=3; body(abc); end"},
    {"a GET may have one", get("Content-Length: 3\r\n") + "abc", "GET / host=a length=3; body(abc); end"},
    {"on HTTP/1.0", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "POST / 1.0 close length=3; body(abc); end"},
    {"body that looks like a request", post("Content-Length: 18\r\n", "GET / HTTP/1.1\r\n\r\n"),
     "POST / host=a length=18; body(GET / HTTP/1.1\r\n\r\n); end"},
    {"body not complete", post("Content-Length: 3\r\n", "ab"), "POST / host=a length=3; body(ab); waiting"},
    {"body not begun", post("Content-Length: 3\r\n", ""), "POST / host=a length=3; waiting"},
    {"differing", post("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd"), "400 more than one Content-Length"},
    {"twice the same", post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), "400 more than one Content-Length"},
    {"listed", post("Content-Length: 3, 3\r\n", "abc"), "400 malformed Content-Length"},
    {"listed and differing", post("Content-Length: 3,4\r\n", "abc"), "400 malformed Content-Length"},
    {"plus", post("Content-Length: +3\r\n", "abc"), "400 malformed Content-Length"},
    {"minus", post("Content-Length: -3\r\n", "abc"), "400 malformed Content-Length"},
    {"minus zero", post("Content-Length: -0\r\n", ""), "400 malformed Content-Length"},
    {"hex", post("Content-Length: 0x3\r\n", "abc"), "400 malformed Content-Length"},
    {"hex digit", post("Content-Length: a\r\n", "abcabcabca"), "400 malformed Content-Length"},
    {"space inside", post("Content-Length: 3 3\r\n", "abc"), "400 malformed Content-Length"},
    {"fraction", post("Content-Length: 3.0\r\n", "abc"), "400 malformed Content-Length"},
    {"exponent", post("Content-Length: 3e0\r\n", "abc"), "400 malformed Content-Length"},
    {"empty", post("Content-Length:\r\n", "abc"), "400 malformed Content-Length"},
    {"underscore as a separator", post("Content-Length: 1_0\r\n", "abc"), "400 malformed Content-Length"},
    {"quoted", post("Content-Length: \"3\"\r\n", "abc"), "400 malformed Content-Length"},
    {"greatest 64 bit number", post("Content-Length: 18446744073709551615\r\n", ""),
     "POST / host=a length=18446744073709551615; 413 body too large"},
    {"one more overflows", post("Content-Length: 18446744073709551616\r\n", ""), "400 Content-Length overflows"},
    {"thirty digits overflow", post("Content-Length: 999999999999999999999999999999\r\n", ""),
     "400 Content-Length overflows"},
};

const std::string kNothing = "0\r\n\r\n";

const std::vector<Case> kCodings = {
    {"chunked", post("Transfer-Encoding: chunked\r\n", kNothing), "POST / host=a chunked; end"},
    {"chunked in capitals", post("Transfer-Encoding: CHUNKED\r\n", kNothing), "POST / host=a chunked; end"},
    {"case of the name", post("tRANSFER-eNCODING: chunked\r\n", kNothing), "POST / host=a chunked; end"},
    {"whitespace around", post("Transfer-Encoding: \t chunked \r\n", kNothing), "POST / host=a chunked; end"},
    {"a GET may have one", get("Transfer-Encoding: chunked\r\n") + kNothing, "GET / host=a chunked; end"},
    {"with a length", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", kNothing),
     "400 Transfer-Encoding with Content-Length"},
    {"with a length behind it", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", kNothing),
     "400 Transfer-Encoding with Content-Length"},
    {"an unknown one with a length", post("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n", kNothing),
     "400 Transfer-Encoding with Content-Length"},
    {"on HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "400 Transfer-Encoding on HTTP/1.0"},
    {"gzip on HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: gzip\r\n\r\n", "400 Transfer-Encoding on HTTP/1.0"},
    {"gzip alone", post("Transfer-Encoding: gzip\r\n", kNothing), "400 chunked is not the last transfer coding"},
    {"identity", post("Transfer-Encoding: identity\r\n", kNothing), "400 chunked is not the last transfer coding"},
    {"chunked not last", post("Transfer-Encoding: chunked, gzip\r\n", kNothing),
     "400 chunked is not the last transfer coding"},
    {"chunked not last over two fields",
     post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", kNothing),
     "400 chunked is not the last transfer coding"},
    {"chunked twice", post("Transfer-Encoding: chunked, chunked\r\n", kNothing), "400 chunked more than once"},
    {"chunked twice over two fields", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", kNothing),
     "400 chunked more than once"},
    {"chunked twice around another", post("Transfer-Encoding: chunked, gzip, chunked\r\n", kNothing),
     "400 chunked more than once"},
    {"gzip before chunked", post("Transfer-Encoding: gzip, chunked\r\n", kNothing), "501 unknown transfer coding"},
    {"gzip before chunked over two fields", post("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", kNothing),
     "501 unknown transfer coding"},
    {"coding with a parameter before chunked", post("Transfer-Encoding: x;q=1, chunked\r\n", kNothing),
     "501 unknown transfer coding"},
    {"chunked with a parameter", post("Transfer-Encoding: chunked;q=1\r\n", kNothing),
     "400 chunked is not the last transfer coding"},
    {"misspelt", post("Transfer-Encoding: xchunked\r\n", kNothing), "400 chunked is not the last transfer coding"},
    {"quoted", post("Transfer-Encoding: \"chunked\"\r\n", kNothing), "400 malformed Transfer-Encoding"},
    {"separated by a space", post("Transfer-Encoding: gzip chunked\r\n", kNothing), "400 malformed Transfer-Encoding"},
    {"vertical tab before chunked", post("Transfer-Encoding: \vchunked\r\n", kNothing),
     "400 control character in a field value"},
    {"empty", post("Transfer-Encoding:\r\n", kNothing), "400 malformed Transfer-Encoding"},
    {"empty element before", post("Transfer-Encoding: , chunked\r\n", kNothing), "400 malformed Transfer-Encoding"},
    {"empty element behind", post("Transfer-Encoding: chunked,\r\n", kNothing), "400 malformed Transfer-Encoding"},
};

const std::vector<Case> kConnections = {
    {"1.1 stays", get(""), "GET / host=a; end"},
    {"1.1 close", get("Connection: close\r\n"), "GET / host=a close; end"},
    {"close in capitals", get("Connection: CLOSE\r\n"), "GET / host=a close; end"},
    {"close in a list", get("Connection: x-a , close,TE\r\n"), "GET / host=a close; end"},
    {"close in a second field", get("Connection: keep-alive\r\nConnection: close\r\n"), "GET / host=a close; end"},
    {"another option stays", get("Connection: closed\r\n"), "GET / host=a; end"},
    {"1.1 keep-alive", get("Connection: keep-alive\r\n"), "GET / host=a; end"},
    {"empty option", get("Connection:\r\n"), "GET / host=a; end"},
    {"1.0 closes", "GET / HTTP/1.0\r\n\r\n", "GET / 1.0 close; end"},
    {"1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET / 1.0; end"},
    {"1.0 keep-alive and close", "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "GET / 1.0 close; end"},
    {"pipelined", get("") + get("") + get(""), "GET / host=a; end; GET / host=a; end; GET / host=a; end"},
    {"pipelined behind a body", post("Content-Length: 3\r\n", "abc") + get(""),
     "POST / host=a length=3; body(abc); end; GET / host=a; end"},
    {"pipelined behind chunks", post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n") + get(""),
     "POST / host=a chunked; body(abc); end; GET / host=a; end"},
    {"pipelined behind chunks and trailers", post("Transfer-Encoding: chunked\r\n", "0\r\nA: b\r\n\r\n") + get(""),
     "POST / host=a chunked; end; GET / host=a; end"},
    {"an empty line behind a body", post("Content-Length: 3\r\n", "abc") + "\r\n" + get(""),
     "POST / host=a length=3; body(abc); end; GET / host=a; end"},
    {"the next request has no Host", get("") + "GET / HTTP/1.0\r\n\r\n", "GET / host=a; end; GET / 1.0 close; end"},
    {"nothing is read behind close", get("Connection: close\r\n") + get(""), "GET / host=a close; end"},
    {"nothing is read behind an error", "GET / HTTP/1.1\r\n\r\n" + get(""), "400 no Host"},
    {"a second that is bad", get("") + "GET /\r\n\r\n", "GET / host=a; end; 400 malformed request target"},
    {"a second not complete", get("") + "GET / HT", "GET / host=a; end; waiting"},
};

const std::vector<Case> kExpectations = {
    {"continue", post("Expect: 100-continue\r\nContent-Length: 1\r\n", "x"),
     "POST / host=a length=1 continue; body(x); end"},
    {"continue in capitals", post("EXPECT: 100-CONTINUE\r\nContent-Length: 1\r\n", "x"),
     "POST / host=a length=1 continue; body(x); end"},
    {"ignored on HTTP/1.0", "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
     "POST / 1.0 close length=1; body(x); end"},
    {"the next request expects nothing", post("Expect: 100-continue\r\nContent-Length: 1\r\n", "x") + get(""),
     "POST / host=a length=1 continue; body(x); end; GET / host=a; end"},
    {"another expectation", post("Expect: 200-ok\r\nContent-Length: 1\r\n", "x"),
     "POST / host=a length=1; body(x); end"},
};

M0_HTTP_CASES(ContentLength, false, kLengths);
M0_HTTP_CASES(TransferEncoding, false, kCodings);
M0_HTTP_CASES(ConnectionOption, false, kConnections);
M0_HTTP_CASES(Expect, false, kExpectations);

}  // namespace
}  // namespace m0::http
