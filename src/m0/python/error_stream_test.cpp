#include "m0/python/error_stream.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "m0/python/harness_test.hpp"

namespace m0::python::testing {
namespace {

/// What goes to standard error while it lives.
class Captured {
 public:
  Captured() : file_(std::tmpfile()), before_(::dup(2)) { ::dup2(::fileno(file_), 2); }
  ~Captured() {
    restore();
    std::fclose(file_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  std::string text() {
    restore();
    std::string all(1 << 20, '\0');
    const ssize_t got = ::pread(::fileno(file_), all.data(), all.size(), 0);
    all.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return all;
  }

 private:
  void restore() {
    if (before_ < 0) return;
    ::dup2(before_, 2);
    ::close(before_);
    before_ = -1;
  }
  std::FILE* file_;
  int before_;
};

/// The log's lines without their time, of a view that is `body` with wsgi.errors as `e`.
std::vector<std::string> lines_of(const std::string& body) {
  const Script script("def app(environ, start_response):\n  e = environ['wsgi.errors']\n" + body +
                      "\n  start_response('200 OK', [])\n  return []\n");
  Host host(script.get("app"));
  std::string text;
  {
    Captured captured;
    EXPECT_EQ(host.ask({}).status, 200);
    text = captured.text();
  }
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t level = line.find("[error] ");
    lines.push_back(level == std::string::npos ? "no line of the log: " + line : line.substr(level + 8));
    at = end + 1;
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(ErrorStream, EachLineIsALineOfTheLog) {
  EXPECT_EQ(lines_of("  e.write('one\\ntwo\\n')"), (Lines{"one", "two"}));
  EXPECT_EQ(lines_of("  e.write('a'); e.write('b'); e.write('\\n'); e.write('c\\n')"), (Lines{"ab", "c"}));
  EXPECT_EQ(lines_of("  print('printed', 5, file=e)"), (Lines{"printed 5"}));
  EXPECT_EQ(lines_of("  e.writelines(['x\\n', 'y', 'z\\n'])"), (Lines{"x", "yz"}));
}

TEST(ErrorStream, ALineEndsWithItsRequestOrAFlush) {
  EXPECT_EQ(lines_of("  e.write('left')"), (Lines{"left"}));
  EXPECT_EQ(lines_of("  e.write('a'); e.flush(); e.write('b'); e.flush(); e.flush()"), (Lines{"a", "b"}));
  EXPECT_EQ(lines_of("  e.flush(); e.write('')"), Lines{});
}

TEST(ErrorStream, NobodyForgesALine) {
  EXPECT_EQ(lines_of("  e.write('x\\r\\x1b[2J\\n2026-01-01T00:00:00.000Z [1] [info] forged\\n')").size(), 2u);
  const Lines lines = lines_of("  e.write('a\\x1b[31mred\\n')");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find('\x1b'), std::string::npos);
}

TEST(ErrorStream, AnEndlessLineIsCut) {
  const Lines lines = lines_of("  for _ in range(40): e.write('x' * 4096)");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].size() + lines[1].size() + lines[2].size(), 40u * 4096u);
}

TEST(ErrorStream, TextThatHasNoUtf8IsEscaped) {
  EXPECT_EQ(lines_of("  e.write('\\ud800 \\u20ac\\n')"), (Lines{"\\ud800 €"}));
}

TEST(ErrorStream, OtherTypesAreErrors) {
  EXPECT_EQ(
      lines_of("  for bad in (b'x', None, 5):\n    try: e.write(bad)\n    except TypeError: e.write('refused\\n')"),
      (Lines{"refused", "refused", "refused"}));
}

TEST(ErrorStream, LoggingWritesToIt) {
  EXPECT_EQ(lines_of("  import logging\n  logger = logging.getLogger('wsgi')\n  handler = logging.StreamHandler(e)\n"
                     "  logger.addHandler(handler)\n  logger.error('bad %d', 1)\n  logger.removeHandler(handler)"),
            (Lines{"bad 1"}));
}

TEST(ErrorStream, ATracebackIsIndented) {
  const Script script("def app(e, s): raise ValueError('x\\n2026-01-01T00:00:00.000Z [1] [info] forged')\n");
  Host host(script.get("app"));
  std::string text;
  {
    Captured captured;
    EXPECT_EQ(host.ask({.target = "/path"}).status, 500);
    text = captured.text();
  }
  EXPECT_NE(text.find("[error] GET /path\n  Traceback (most recent call last):\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  2026-01-01T00:00:00.000Z [1] [info] forged\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace m0::python::testing
