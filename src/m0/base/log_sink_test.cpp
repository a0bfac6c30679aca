#include "m0/base/log_sink.hpp"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "m0/base/fd.hpp"

namespace m0::base {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    reader = Fd(ends[0]);
    writer = Fd(ends[1]);
  }
  void fill() const {
    const int flags = ::fcntl(writer.get(), F_GETFL);
    ::fcntl(writer.get(), F_SETFL, flags | O_NONBLOCK);
    const std::string page(4096, '#');
    while (::write(writer.get(), page.data(), page.size()) > 0) {
    }
    ::fcntl(writer.get(), F_SETFL, flags);
  }
  [[nodiscard]] std::string read_some() const {
    std::string bytes(1 << 16, '\0');
    const ssize_t got = ::read(reader.get(), bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  Fd reader;
  Fd writer;
};

TEST(LogSink, WritesSeveralLinesAtOnce) {
  const Pipe pipe;
  LogSink sink(pipe.writer.get());
  const std::vector<std::string> lines{"one\n", "two\n"};
  const SinkResult result = sink.write(lines, 0);
  EXPECT_EQ(result.state, SinkState::Wrote);
  EXPECT_EQ(result.bytes, 8U);
  EXPECT_EQ(pipe.read_some(), "one\ntwo\n");
}

TEST(LogSink, SkipsWhatIsOutAlready) {
  const Pipe pipe;
  LogSink sink(pipe.writer.get());
  const std::vector<std::string> lines{"one\n", "two\n"};
  EXPECT_EQ(sink.write(lines, 2).bytes, 6U);
  EXPECT_EQ(pipe.read_some(), "e\ntwo\n");
}

TEST(LogSink, NeverTearsALineOfAPipeThatFits) {
  const Pipe pipe;
  LogSink sink(pipe.writer.get());
  const std::vector<std::string> lines{std::string(3000, 'a'), std::string(3000, 'b')};
  EXPECT_EQ(sink.write(lines, 0).bytes, 3000U);
}

TEST(LogSink, WritesALongLineInPieces) {
  const Pipe pipe;
  LogSink sink(pipe.writer.get());
  const std::vector<std::string> lines{std::string(3 * PIPE_BUF, 'a')};
  EXPECT_EQ(sink.write(lines, 0).bytes, static_cast<std::size_t>(PIPE_BUF));
}

TEST(LogSink, SaysFullWithoutWaiting) {
  const Pipe pipe;
  pipe.fill();
  LogSink sink(pipe.writer.get());
  const std::vector<std::string> lines{"one\n"};
  EXPECT_EQ(sink.write(lines, 0).state, SinkState::Full);
  EXPECT_EQ(::fcntl(pipe.writer.get(), F_GETFL) & O_NONBLOCK, 0) << "the descriptor is shared: its flags are not ours";
}

TEST(LogSink, AFullSocketDoesNotMakeItWait) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  LogSink sink(writer.get());
  const std::vector<std::string> lines(64, std::string(1000, 'x'));
  SinkResult result{SinkState::Wrote};
  for (int i = 0; i < 10'000 && result.state == SinkState::Wrote; ++i) result = sink.write(lines, 0);
  EXPECT_EQ(result.state, SinkState::Full);
}

TEST(LogSink, AClosedDescriptorFails) {
  Pipe pipe;
  const int number = pipe.writer.get();
  LogSink sink(number);
  pipe.writer.reset();
  const std::vector<std::string> lines{"one\n"};
  const SinkResult result = sink.write(lines, 0);
  EXPECT_EQ(result.state, SinkState::Failed);
  EXPECT_EQ(result.error, EBADF);
}

TEST(LogSink, AFullDiskFails) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  LogSink sink(full.get());
  const std::vector<std::string> lines{"one\n"};
  const SinkResult result = sink.write(lines, 0);
  EXPECT_EQ(result.state, SinkState::Failed);
  EXPECT_EQ(result.error, ENOSPC);
}

TEST(LogSink, ASecondOpeningOfAPipeIsNonBlockingByItself) {
  const Pipe pipe;
  LogSink sink(pipe.writer.get());
  UnblockedSink unblocked(sink);
  ASSERT_NE(unblocked.get().fd(), sink.fd());
  EXPECT_NE(::fcntl(unblocked.get().fd(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(sink.fd(), F_GETFL) & O_NONBLOCK, 0);
  const std::vector<std::string> lines{"one\n"};
  EXPECT_EQ(unblocked.get().write(lines, 0).bytes, 4U);
  EXPECT_EQ(pipe.read_some(), "one\n");
}

TEST(LogSink, WhatIsNoPipeIsNotOpenedTwice) {
  const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  LogSink sink(null.get());
  UnblockedSink unblocked(sink);
  EXPECT_EQ(unblocked.get().fd(), sink.fd());
}

}  // namespace
}  // namespace m0::base
