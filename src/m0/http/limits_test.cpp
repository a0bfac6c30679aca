// Each limit from both sides, and which one speaks when two are near.

#include "m0/http/limits.hpp"

#include "m0/http/cases_test.hpp"

namespace m0::http {
namespace {

using testing::Case;
using testing::get;
using testing::post;

std::string x(std::size_t count) { return std::string(count, 'x'); }

constexpr Limits kLine = {.max_line = 40};
// "GET / HTTP/1.1" and "Host: a" with their ends are 25 bytes, the empty line 2.
constexpr Limits kHead = {.max_line = 60, .max_head = 64};
constexpr Limits kFields = {.max_fields = 3};
constexpr Limits kBody = {.max_body = 5};

const std::vector<Case> kLines = {
    {"request line at its limit", "GET /" + x(26) + " HTTP/1.1\r\nHost: a\r\n\r\n", "GET /" + x(26) + " host=a; end",
     kLine},
    {"request line over its limit", "GET /" + x(27) + " HTTP/1.1\r\nHost: a\r\n\r\n", "414 request line too long",
     kLine},
    {"request line without an end", "GET /" + x(100), "414 request line too long", kLine},
    {"request line one byte before", "GET /" + x(36), "waiting", kLine},
    {"method without an end", x(100), "414 request line too long", kLine},
    {"bad byte in a line over its limit", "GET /\x01" + x(100) + " HTTP/1.1\r\n\r\n", "414 request line too long",
     kLine},
    {"bad byte in a line at its limit", "GET /\x01" + x(25) + " HTTP/1.1\r\n\r\n", "400 malformed request target",
     kLine},
    {"field line at its limit", get("A: " + x(37) + "\r\n"), "GET / host=a; end", kLine},
    {"field line over its limit", get("A: " + x(38) + "\r\n"), "431 field line too long", kLine},
    {"field line over its limit by whitespace", get("A: x" + std::string(40, ' ') + "\r\n"), "431 field line too long",
     kLine},
    {"field line without an end", "GET / HTTP/1.1\r\nA: " + x(100), "431 field line too long", kLine},
    {"field name without an end", "GET / HTTP/1.1\r\n" + x(100), "431 field line too long", kLine},
    {"bad field line over its limit", get("A : " + x(100) + "\r\n"), "431 field line too long", kLine},
    {"bad length in a line over its limit", get("Content-Length: " + x(100) + "\r\n"), "431 field line too long",
     kLine},
    {"default request line", "GET /" + x(8 * 1024 - 14) + " HTTP/1.1\r\nHost: a\r\n\r\n",
     "GET /" + x(8 * 1024 - 14) + " host=a; end"},
    {"default request line and one", "GET /" + x(8 * 1024 - 13) + " HTTP/1.1\r\nHost: a\r\n\r\n",
     "414 request line too long"},
};

const std::vector<Case> kHeads = {
    {"at its limit", get("A: " + x(32) + "\r\n"), "GET / host=a; end", kHead},
    {"one over", get("A: " + x(33) + "\r\n"), "431 head too large", kHead},
    {"line ends at the limit, head does not", get("A: " + x(34) + "\r\n"), "431 head too large", kHead},
    {"far over", get("A: " + x(20) + "\r\nB: " + x(20) + "\r\n"), "431 head too large", kHead},
    {"no end", "GET / HTTP/1.1\r\nA: " + x(20) + "\r\nB: " + x(100), "431 head too large", kHead},
    {"empty lines before do not count", "\r\n\r\n" + get("A: " + x(32) + "\r\n"), "GET / host=a; end", kHead},
    {"bad line before the limit", get("A : " + x(20) + "\r\nB: " + x(100) + "\r\n"), "400 malformed field name", kHead},
    {"bad line across the limit", get("A: " + x(20) + "\r\nB : " + x(20) + "\r\n"), "431 head too large", kHead},
    {"second request has its own", get("A: " + x(32) + "\r\n") + get("A: " + x(32) + "\r\n"),
     "GET / host=a; end; GET / host=a; end", kHead},
};

const std::vector<Case> kCounts = {
    {"fields at the limit", get("A: 1\r\nB: 2\r\n"), "GET / host=a; end", kFields},
    {"fields over the limit", get("A: 1\r\nB: 2\r\nC: 3\r\n"), "431 too many fields", kFields},
    {"a bad line where the limit is passed", get("A: 1\r\nB: 2\r\nC : 3\r\n"), "400 malformed field name", kFields},
    {"trailers at the limit", post("Transfer-Encoding: chunked\r\n", "0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n"),
     "POST / host=a chunked; end", kFields},
    {"trailers over the limit", post("Transfer-Encoding: chunked\r\n", "0\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n"),
     "POST / host=a chunked; 431 too many fields", kFields},
};

const std::vector<Case> kBodies = {
    {"length at the limit", post("Content-Length: 5\r\n", "abcde"), "POST / host=a length=5; body(abcde); end", kBody},
    {"length over the limit", post("Content-Length: 6\r\n", "abcdef"), "POST / host=a length=6; 413 body too large",
     kBody},
    {"length over the limit, nobody waits for 100", post("Expect: 100-continue\r\nContent-Length: 6\r\n", ""),
     "POST / host=a length=6 continue; 413 body too large", kBody},
    {"chunks at the limit", post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
     "POST / host=a chunked; body(abcde); end", kBody},
    {"chunks over the limit", post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"),
     "POST / host=a chunked; body(abc); 413 body too large", kBody},
    {"each request has its own limit",
     post("Transfer-Encoding: chunked\r\n", "5\r\nabcde\r\n0\r\n\r\n") +
         post("Transfer-Encoding: chunked\r\n", "5\r\nabcde\r\n0\r\n\r\n"),
     "POST / host=a chunked; body(abcde); end; POST / host=a chunked; body(abcde); end", kBody},
    {"a chunk over the limit", post("Transfer-Encoding: chunked\r\n", "6\r\nabcdef\r\n"),
     "POST / host=a chunked; 413 body too large", kBody},
    {"a chunk of all bits", post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\nffffffffffffffff\r\n"),
     "POST / host=a chunked; body(abc); 413 body too large", kBody},
    {"no body at all",
     post("Content-Length: 1\r\n", "a"),
     "POST / host=a length=1; 413 body too large",
     {.max_body = 0}},
};

const std::vector<Case> kChunkLines = {
    {"extension at the limit", post("Transfer-Encoding: chunked\r\n", "3;" + x(40) + "\r\nabc\r\n0\r\n\r\n"),
     "POST / host=a chunked; body(abc); end", kLine},
    {"extension over the limit", post("Transfer-Encoding: chunked\r\n", "3;" + x(41) + "\r\nabc\r\n0\r\n\r\n"),
     "POST / host=a chunked; 400 chunk extension too long", kLine},
    {"extension without an end", post("Transfer-Encoding: chunked\r\n", "3;" + x(100)),
     "POST / host=a chunked; 400 chunk extension too long", kLine},
    {"bad byte behind the limit", post("Transfer-Encoding: chunked\r\n", "3;" + x(40) + "\x01"),
     "POST / host=a chunked; 400 chunk extension too long", kLine},
    {"small extensions on small chunks",
     post("Transfer-Encoding: chunked\r\n", "1;xx\r\na\r\n1;xx\r\nb\r\n0\r\n\r\n"),
     "POST / host=a chunked; body(ab); end",
     {.max_head = 70}},
    {"extensions that outgrow the data",
     post("Transfer-Encoding: chunked\r\n",
          "1;" + x(35) + "\r\na\r\n1;" + x(35) + "\r\nb\r\n1;" + x(35) + "\r\nc\r\n0\r\n\r\n"),
     "POST / host=a chunked; body(ab); 400 more chunk extensions than data",
     {.max_head = 70}},
    {"each request has its own extensions",
     post("Transfer-Encoding: chunked\r\n", "1;" + x(50) + "\r\na\r\n0\r\n\r\n") +
         post("Transfer-Encoding: chunked\r\n", "1;" + x(50) + "\r\na\r\n0\r\n\r\n"),
     "POST / host=a chunked; body(a); end; POST / host=a chunked; body(a); end",
     {.max_head = 70}},
    {"data pays for extensions",
     post("Transfer-Encoding: chunked\r\n", "28;" + x(35) + "\r\n" + x(40) + "\r\n28;" + x(35) + "\r\n" + x(40) +
                                                "\r\n28;" + x(35) + "\r\n" + x(40) + "\r\n0\r\n\r\n"),
     "POST / host=a chunked; body(" + x(120) + "); end",
     {.max_head = 70}},
    {"trailer line at the limit", post("Transfer-Encoding: chunked\r\n", "0\r\nA: " + x(37) + "\r\n\r\n"),
     "POST / host=a chunked; end", kLine},
    {"trailer line over the limit", post("Transfer-Encoding: chunked\r\n", "0\r\nA: " + x(38) + "\r\n\r\n"),
     "POST / host=a chunked; 431 field line too long", kLine},
    {"trailer section over the limit",
     post("Transfer-Encoding: chunked\r\n", "0\r\nA: " + x(30) + "\r\nB: " + x(30) + "\r\n\r\n"),
     "POST / host=a chunked; 431 head too large", kHead},
};

M0_HTTP_CASES(LineLimit, false, kLines);
M0_HTTP_CASES(HeadLimit, false, kHeads);
M0_HTTP_CASES(FieldCount, false, kCounts);
M0_HTTP_CASES(BodyLimit, false, kBodies);
M0_HTTP_CASES(ChunkLineLimit, false, kChunkLines);

}  // namespace
}  // namespace m0::http
