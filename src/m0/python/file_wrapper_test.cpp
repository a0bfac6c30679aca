#include "m0/python/file_wrapper.hpp"

#include <gtest/gtest.h>

#include "m0/python/harness_test.hpp"

namespace m0::python::testing {
namespace {

using Kind = handler::ResponseBody::Kind;

/// `open` makes `f`, whose file of ten bytes is `path`.
std::string with_file(const std::string& open, const std::string& headers = "[]") {
  return R"(
import gzip, io, os, tempfile
handle, path = tempfile.mkstemp()
os.write(handle, b'0123456789')
os.close(handle)
closed = []
f = None
def app(environ, start_response):
    global f
    f = )" +
         open + R"(
    real_close = f.close
    start_response('200 OK', )" +
         headers + R"()
    class Closing:
        pass
    wrapper = environ['wsgi.file_wrapper'](f, 4)
    def close():
        closed.append(1)
        real_close()
    wrapper.close = close
    return wrapper
)";
}

struct Result {
  Seen seen;
  std::string closed;
  std::string is_closed;
};

Result run(const std::string& open, const std::string& headers = "[]", const Ask& request = {}) {
  const Script script(with_file(open, headers));
  Host host(script.get("app"));
  Result result{host.ask(request), script.eval("closed"), script.eval("getattr(f, 'closed', None)")};
  EXPECT_EQ(script.eval("os.unlink(path)"), "None");
  return result;
}

TEST(FileWrapper, ARegularFileIsLeftToTheLoop) {
  for (const char* open : {"open(path, 'rb')", "open(path, 'rb', buffering=0)", "open(path, 'r+b')"}) {
    const Result result = run(open);
    EXPECT_EQ(result.seen.kind, Kind::File) << open;
    EXPECT_EQ(result.seen.body, "0123456789") << open;
    EXPECT_EQ(result.closed, "[1]") << open;
    EXPECT_EQ(result.is_closed, "True") << open;
  }
}

TEST(FileWrapper, StartsAtTheFilesPosition) {
  const Result result = run("open(path, 'rb'); f.read(3)");
  EXPECT_EQ(result.seen.kind, Kind::File);
  EXPECT_EQ(result.seen.body, "3456789");
}

TEST(FileWrapper, SendsWhatWasWrittenButNotFlushed) {
  const Result result = run("open(path, 'r+b'); f.write(b'abc')");
  EXPECT_EQ(result.seen.body, "3456789");
}

TEST(FileWrapper, HonoursADeclaredLength) {
  EXPECT_EQ(run("open(path, 'rb')", "[('Content-Length', '4')]").seen.body, "0123");
  const Result result = run("open(path, 'rb')", "[('Content-Length', '40')]");
  EXPECT_EQ(result.seen.kind, Kind::Window);
  EXPECT_TRUE(result.seen.aborted);
  EXPECT_EQ(result.closed, "[1]");
}

TEST(FileWrapper, WhatReadsSomethingElseThanItsDescriptorIsIterated) {
  const Result zipped = run("gzip.open(path, 'wb'); f.write(b'plain text'); f.close(); f = gzip.open(path, 'rb')");
  EXPECT_EQ(zipped.seen.kind, Kind::Window);
  EXPECT_EQ(zipped.seen.body, "plain text");
  EXPECT_EQ(zipped.closed, "[1]");
}

TEST(FileWrapper, FilesInMemoryAndPipesAreIterated) {
  EXPECT_EQ(run("io.BytesIO(b'in memory')").seen.body, "in memory");
  const Result pipe =
      run("(lambda r, w: (os.write(w, b'from a pipe'), os.close(w), os.fdopen(r, 'rb'))[2])(*os.pipe())");
  EXPECT_EQ(pipe.seen.kind, Kind::Window);
  EXPECT_EQ(pipe.seen.body, "from a pipe");
}

TEST(FileWrapper, TemporaryFilesAreSent) {
  EXPECT_EQ(run("tempfile.NamedTemporaryFile(); f.write(b'temporary'); f.seek(4)").seen.kind, Kind::File);
  EXPECT_EQ(run("tempfile.TemporaryFile(); f.write(b'temporary'); f.seek(4)").seen.body, "orary");
}

TEST(FileWrapper, AnEmptyFileIsAnEmptyBody) {
  const Result result = run("open(path, 'rb'); f.seek(0, 2)");
  EXPECT_EQ(result.seen.body, "");
  EXPECT_EQ(result.seen.kind, Kind::Bytes);
}

TEST(FileWrapper, HeadAnd304SendNothing) {
  const Result head = run("open(path, 'rb')", "[('Content-Length', '10')]", {.method = "HEAD"});
  EXPECT_EQ(head.closed, "[1]");
  EXPECT_EQ(head.seen.kind, Kind::File);
}

TEST(FileWrapper, AClosedFileIsAnError) {
  const Result result = run("open(path, 'rb'); f.close()");
  EXPECT_EQ(result.seen.status, 500);
  EXPECT_EQ(result.closed, "[1]");
}

}  // namespace
}  // namespace m0::python::testing
