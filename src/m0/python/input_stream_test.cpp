#include "m0/python/input_stream.hpp"

#include <gtest/gtest.h>

#include <string>

#include "m0/python/harness_test.hpp"

namespace m0::python::testing {
namespace {

/// Evaluates `expression` on wsgi.input as `i` for a body, in memory and in a file: both must say the same.
class InputStreamTest : public ::testing::TestWithParam<bool> {
 protected:
  std::string with(const std::string& body, const std::string& expression) {
    const Script script(
        "result = None\ndef app(environ, start_response):\n  global result\n  i = environ['wsgi.input']\n"
        "  i.readline()\n  result = " +
        expression + "\n  start_response('200 OK', [])\n  return []\n");
    Host host(script.get("app"));
    const bool in_file = GetParam();
    host.before = [in_file](handler::Exchange& exchange) { EXPECT_EQ(exchange.body.in_memory(), !in_file); };
    // A first line, read away before: with it the body is longer than what is kept in memory, or not.
    const std::string first = std::string(in_file ? handler::BodyStore::kInMemory : 0, '-') + "\n";
    EXPECT_EQ(host.ask({.method = "POST", .body = first + body}).status, 200) << expression;
    return script.eval("result");
  }
};

TEST_P(InputStreamTest, Read) {
  EXPECT_EQ(with("hello", "i.read()"), "b'hello'");
  EXPECT_EQ(with("hello", "i.read(None)"), "b'hello'");
  EXPECT_EQ(with("hello", "i.read(-1)"), "b'hello'");
  EXPECT_EQ(with("hello", "[i.read(2), i.read(2), i.read(2), i.read(2), i.read()]"), "[b'he', b'll', b'o', b'', b'']");
  EXPECT_EQ(with("hello", "[i.read(0), i.read(100)]"), "[b'', b'hello']");
  EXPECT_EQ(with("", "[i.read(), i.read(1)]"), "[b'', b'']");
}

TEST_P(InputStreamTest, Readline) {
  EXPECT_EQ(with("a\nbb\n\nc", "[i.readline() for _ in range(6)]"), R"([b'a\n', b'bb\n', b'\n', b'c', b'', b''])");
  EXPECT_EQ(with("abc\ndef", "[i.readline(2), i.readline(2), i.readline(9), i.readline(0)]"),
            R"([b'ab', b'c\n', b'def', b''])");
  EXPECT_EQ(with("a\nb", "[i.readline(-1), i.readline(None)]"), R"([b'a\n', b'b'])");
}

TEST_P(InputStreamTest, LinesLongerThanTheReadAhead) {
  const std::string line(30000, 'l');
  EXPECT_EQ(with(line + "\n" + line + "\nend", "[len(l) for l in i]"), "[30001, 30001, 3]");
  EXPECT_EQ(with(line + "\nend", "(len(i.readline(20000)), len(i.readline()), i.readline())"),
            "(20000, 10001, b'end')");
}

TEST_P(InputStreamTest, Readlines) {
  EXPECT_EQ(with("a\nb\nc", "i.readlines()"), R"([b'a\n', b'b\n', b'c'])");
  EXPECT_EQ(with("a\nb\nc", "[i.readlines(3), i.readlines(1), i.readlines()]"), R"([[b'a\n', b'b\n'], [b'c'], []])");
  EXPECT_EQ(with("a\nb", "i.readlines(0)"), R"([b'a\n', b'b'])");
  EXPECT_EQ(with("a\nb", "i.readlines(-1)"), R"([b'a\n', b'b'])");
}

TEST_P(InputStreamTest, Iteration) {
  EXPECT_EQ(with("a\nb", "list(i)"), R"([b'a\n', b'b'])");
  EXPECT_EQ(with("a\nb", "[next(i), next(i), next(i, None), iter(i) is i]"), R"([b'a\n', b'b', None, True])");
}

TEST_P(InputStreamTest, WaysOfReadingMix) {
  EXPECT_EQ(with("one\ntwo\nthree\nfour", "[i.readline(), i.read(2), next(i), i.readlines(1), i.read()]"),
            R"([b'one\n', b'tw', b'o\n', [b'three\n'], b'four'])");
}

TEST_P(InputStreamTest, BytesThatAreNoTextArePreserved) {
  std::string body;
  for (int i = 0; i < 256; ++i) body.push_back(static_cast<char>(i));
  EXPECT_EQ(with(body, "i.read() == bytes(range(256))"), "True");
}

TEST_P(InputStreamTest, ABigBodyIsReadInPieces) {
  const std::size_t size = GetParam() ? 300000 : 60000;
  EXPECT_EQ(with(std::string(size, 'b'), "sum(len(p) for p in iter(lambda: i.read(65536), b''))"),
            std::to_string(size));
}

INSTANTIATE_TEST_SUITE_P(, InputStreamTest, ::testing::Values(false, true),
                         [](const auto& parameter) { return parameter.param ? "InFile" : "InMemory"; });

TEST(InputStream, WrongArgumentsAreErrors) {
  const Script script(R"(
names = []
def app(environ, start_response):
    i = environ['wsgi.input']
    for call in (lambda: i.read('x'), lambda: i.read(1, 2), lambda: i.readline(1.5), lambda: i.readlines([]),
                 lambda: i.read(2**80)):
        try: call()
        except Exception as error: names.append(type(error).__name__)
    start_response('200 OK', [])
    return [i.read()]
)");
  Host host(script.get("app"));
  EXPECT_EQ(host.ask({.body = "intact"}).body, "intact");
  EXPECT_EQ(script.eval("names"), "['TypeError', 'TypeError', 'TypeError', 'TypeError', 'OverflowError']");
}

TEST(InputStream, AfterTheRequestItSaysSo) {
  const Script script(R"(
kept = None
def app(environ, start_response):
    global kept
    kept = environ['wsgi.input']
    start_response('200 OK', [])
    return []
def late(name):
    try: return getattr(kept, name)()
    except ValueError as error: return str(error)
)");
  Host host(script.get("app"));
  host.ask({.body = "secret"});
  for (const char* name : {"read", "readline", "readlines", "__next__"}) {
    EXPECT_EQ(script.eval("late('" + std::string(name) + "')"), "wsgi.input was read after its request had ended")
        << name;
  }
}

TEST(InputStream, AnotherThreadMayRead) {
  const Script script(R"(
from concurrent.futures import ThreadPoolExecutor
def app(environ, start_response):
    with ThreadPoolExecutor(4) as pool:
        pieces = list(pool.map(lambda _: environ['wsgi.input'].read(1000), range(200)))
    start_response('200 OK', [])
    return [b''.join(pieces)]
)");
  Host host(script.get("app"));
  EXPECT_EQ(host.ask({.body = std::string(150000, 'r')}).body.size(), 150000u);
}

TEST(InputStream, IsNotMadeByApplications) {
  const Script script(R"(
kept = None
def app(environ, start_response):
    global kept
    kept = type(environ['wsgi.input'])
    start_response('200 OK', [])
    return []
def make():
    try: return kept()
    except TypeError: return 'TypeError'
)");
  Host host(script.get("app"));
  host.ask({});
  EXPECT_EQ(script.eval("make()"), "TypeError");
}

}  // namespace
}  // namespace m0::python::testing
