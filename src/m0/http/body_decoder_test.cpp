// Chunked bodies: RFC 9112 section 7.

#include "m0/http/body_decoder.hpp"

#include "m0/http/cases_test.hpp"

namespace m0::http {
namespace {

using testing::Case;
using namespace std::string_literals;

std::string chunked(std::string_view body) { return testing::post("Transfer-Encoding: chunked\r\n", body); }

/// The events of a head that says chunked, and then these.
std::string then(std::string_view events) { return "POST / host=a chunked; " + std::string(events); }

const std::vector<Case> kChunks = {
    {"none", chunked("0\r\n\r\n"), then("end")},
    {"one", chunked("3\r\nabc\r\n0\r\n\r\n"), then("body(abc); end")},
    {"two", chunked("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), then("body(abcde); end")},
    {"hex in both cases", chunked("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n"),
     then("body(01234567890123456789); end")},
    {"two digits", chunked("10\r\n0123456789abcdef\r\n0\r\n\r\n"), then("body(0123456789abcdef); end")},
    {"sixteen digits", chunked("0000000000000003\r\nabc\r\n0\r\n\r\n"), then("body(abc); end")},
    {"several zeros end it", chunked("000\r\n\r\n"), then("end")},
    {"data of CR and LF", chunked("4\r\n\r\n\r\n\r\n0\r\n\r\n"), then("body(\r\n\r\n); end")},
    {"not complete", chunked("3\r\nab"), then("body(ab); waiting")},
    {"last chunk without the end", chunked("0\r\n"), then("waiting")},

    {"seventeen digits", chunked("00000000000000003\r\nabc\r\n"), then("400 chunk size too long")},
    {"no size", chunked("\r\nabc\r\n"), then("400 malformed chunk size")},
    {"empty size and an extension", chunked(";a\r\nabc\r\n"), then("400 malformed chunk size")},
    {"plus", chunked("+3\r\nabc\r\n"), then("400 malformed chunk size")},
    {"minus", chunked("-3\r\nabc\r\n"), then("400 malformed chunk size")},
    {"0x", chunked("0x3\r\nabc\r\n"), then("400 malformed chunk size")},
    {"no hex digit", chunked("g\r\nabc\r\n"), then("400 malformed chunk size")},
    {"space before the size", chunked(" 3\r\nabc\r\n"), then("400 malformed chunk size")},
    {"space behind the size", chunked("3 \r\nabc\r\n"), then("400 malformed chunk size")},
    {"tab behind the size", chunked("3\t\r\nabc\r\n"), then("400 malformed chunk size")},
    {"space before an extension", chunked("3 ;a\r\nabc\r\n"), then("400 malformed chunk size")},
    {"underscore in the size", chunked("1_0\r\nabc\r\n"), then("400 malformed chunk size")},
    {"NUL in the size", chunked("3\0\r\nabc\r\n"s), then("400 malformed chunk size")},
    {"bare LF behind the size", chunked("3\nabc\r\n0\r\n\r\n"), then("400 malformed chunk size")},
    {"bare CR behind the size", chunked("3\rabc\r\n0\r\n\r\n"), then("400 bare CR in a chunk-size line")},
    {"data longer than its size", chunked("3\r\nabcd\r\n0\r\n\r\n"),
     then("body(abc); 400 chunk data longer than its size")},
    {"data shorter than its size", chunked("3\r\nab\r\n0\r\n\r\n"),
     then("body(ab\r); 400 chunk data longer than its size")},
    {"bare LF behind the data", chunked("3\r\nabc\n0\r\n\r\n"), then("body(abc); 400 chunk data longer than its size")},
    {"bare CR behind the data", chunked("3\r\nabc\r0\r\n\r\n"), then("body(abc); 400 chunk data longer than its size")},
};

const std::vector<Case> kExtensions = {
    {"name", chunked("3;a\r\nabc\r\n0;b\r\n\r\n"), then("body(abc); end")},
    {"name and value", chunked("3;a=b;c=d\r\nabc\r\n0\r\n\r\n"), then("body(abc); end")},
    {"quoted value", chunked("3;a=\"b;c\"\r\nabc\r\n0\r\n\r\n"), then("body(abc); end")},
    {"whitespace inside", chunked("3; a = b\t\r\nabc\r\n0\r\n\r\n"), then("body(abc); end")},
    {"obs-text", chunked("3;\xc3\xa9\r\nabc\r\n0\r\n\r\n"), then("body(abc); end")},
    {"empty", chunked("3;\r\nabc\r\n0\r\n\r\n"), then("body(abc); end")},
    {"bare LF", chunked("3;a\nabc\r\n0\r\n\r\n"), then("400 control character in a chunk extension")},
    {"bare LF in quotes", chunked("3;a=\"\n\"\r\nabc\r\n0\r\n\r\n"),
     then("400 control character in a chunk extension")},
    {"bare CR", chunked("3;a\rb\r\nabc\r\n0\r\n\r\n"), then("400 bare CR in a chunk-size line")},
    {"NUL", chunked("3;a\0\r\nabc\r\n"s), then("400 control character in a chunk extension")},
    {"DEL", chunked("3;a\x7f\r\nabc\r\n"), then("400 control character in a chunk extension")},
    {"ESC in a long one", chunked("3;" + std::string(40, 'e') + "\x1b\r\nabc\r\n"),
     then("400 control character in a chunk extension")},
};

const std::vector<Case> kTrailers = {
    {"one", chunked("3\r\nabc\r\n0\r\nA: b\r\n\r\n"), then("body(abc); end")},
    {"several", chunked("0\r\nA: b\r\nC:\r\nA: d\r\n\r\n"), then("end")},
    {"not complete", chunked("0\r\nA: b\r\n"), then("waiting")},
    {"Content-Length", chunked("0\r\nContent-Length: 3\r\n\r\n"), then("400 forbidden trailer field")},
    {"Transfer-Encoding", chunked("0\r\nA: b\r\ntransfer-encoding: chunked\r\n\r\n"),
     then("400 forbidden trailer field")},
    {"Host", chunked("0\r\nHOST: a\r\n\r\n"), then("400 forbidden trailer field")},
    {"no name", chunked("0\r\n: b\r\n\r\n"), then("400 malformed field name")},
    {"no colon", chunked("0\r\nabc\r\n\r\n"), then("400 malformed field name")},
    {"space before the colon", chunked("0\r\nA : b\r\n\r\n"), then("400 malformed field name")},
    {"folded", chunked("0\r\nA: b\r\n c\r\n\r\n"), then("400 line folding")},
    {"bare LF", chunked("0\r\nA: b\n\r\n"), then("400 bare LF")},
    {"bare LF as the end", chunked("0\r\n\n"), then("400 bare LF")},
    {"NUL", chunked("0\r\nA: \0\r\n\r\n"s), then("400 control character in a field value")},
    {"a request where they should be", chunked("0\r\nGET / HTTP/1.1\r\n"), then("400 malformed field name")},
};

M0_HTTP_CASES(Chunk, false, kChunks);
M0_HTTP_CASES(ChunkExtension, false, kExtensions);
M0_HTTP_CASES(Trailer, false, kTrailers);

}  // namespace
}  // namespace m0::http
