#include "m0/base/logger.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <system_error>

#include "m0/base/fd.hpp"
#include "m0/base/fd_registry.hpp"
#include "m0/base/metric.hpp"

namespace m0::base {
namespace {

using namespace std::chrono_literals;

// Thread sanitizer ends a process that starts a thread after a fork with several: there a child writes by itself.
#if defined(__has_feature)
constexpr bool kThreadsAfterFork = !__has_feature(thread_sanitizer);
#else
constexpr bool kThreadsAfterFork = true;
#endif

// Before any test has changed it.
const bool kInfoAtStart = log::enabled(LogLevel::Info) && !log::enabled(LogLevel::Debug);

std::uint64_t metric_value(std::string_view name) {
  const auto all = metric::all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name) return metric::slab().cells[i].load();
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

/// Standard error is a pipe whose reader is the test, as long as this lives.
class LoggerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader_ = Fd(ends[0]);
    ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
    saved_ = Fd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    pattern_ = (std::filesystem::temp_directory_path() / "m0-log-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern_.data()), nullptr);
    // Announces what the test before lost, and comes out only once its writer has gone.
    log::info("begin");
    read_until_contains("begin");
    read_now();
  }
  void TearDown() override {
    read_now();
    log::stop_writer(1s);
    log::open_access("");
    ::dup2(saved_.get(), STDERR_FILENO);
    log::set_level(LogLevel::Info);
    std::filesystem::remove_all(pattern_);
  }

  /// Reads what is there until `until` says it is enough, at most ten seconds.
  template <class Enough>
  std::string read_until(Enough until) {
    const Instant bound = now() + 10s;
    while (!until(seen_) && now() < bound) {
      std::array<char, 65536> bytes;
      const ssize_t got = ::read(reader_.get(), bytes.data(), bytes.size());
      if (got > 0) {
        seen_.append(bytes.data(), static_cast<std::size_t>(got));
      } else {
        pollfd ask{reader_.get(), POLLIN, 0};
        ::poll(&ask, 1, 100);
      }
    }
    return seen_;
  }
  std::string read_until_contains(std::string_view text) {
    return read_until([&](const std::string& seen) { return seen.find(text) != std::string::npos; });
  }
  std::string read_now() {
    std::array<char, 65536> bytes;
    for (ssize_t got; (got = ::read(reader_.get(), bytes.data(), bytes.size())) > 0;) {
      seen_.append(bytes.data(), static_cast<std::size_t>(got));
    }
    return std::exchange(seen_, {});
  }
  static void fill_stderr() {
    const int flags = ::fcntl(STDERR_FILENO, F_GETFL);
    ::fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
    const std::string page(4096, '#');
    while (::write(STDERR_FILENO, page.data(), page.size()) > 0) {
    }
    ::fcntl(STDERR_FILENO, F_SETFL, flags);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return pattern_ + "/" + name; }
  static std::string contents(const std::string& path) {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }

  Fd reader_;
  Fd saved_;
  std::string seen_;
  std::string pattern_;
};

TEST_F(LoggerTest, WritesAtOnceBeforeTheWriterRuns) {
  log::info("listening on {}", 8000);
  const std::string line = read_now();
  EXPECT_TRUE(std::regex_match(line, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[)" +
                                                std::to_string(::getpid()) + R"(\] \[info\] listening on 8000\n)")))
      << line;
}

TEST_F(LoggerTest, LevelsAreInOrder) {
  log::set_level(LogLevel::Warning);
  log::debug("no");
  log::info("no");
  log::warning("w");
  log::error("e");
  log::write(LogLevel::Critical, "c");
  const std::string lines = read_now();
  EXPECT_EQ(lines.find("no"), std::string::npos);
  EXPECT_THAT(lines, ::testing::ContainsRegex("\\[warning\\] w\n.*\\[error\\] e\n.*\\[critical\\] c\n"));
}

TEST_F(LoggerTest, InfoIsTheDefaultAndOffIsSilent) {
  EXPECT_TRUE(kInfoAtStart);
  log::set_level(LogLevel::Off);
  log::write(LogLevel::Critical, "no");
  EXPECT_EQ(read_now(), "");
}

TEST(LoggerLevel, WordsOfTheFlag) {
  LogLevel level = LogLevel::Off;
  EXPECT_TRUE(parse_log_level("debug", level));
  EXPECT_EQ(level, LogLevel::Debug);
  EXPECT_TRUE(parse_log_level("CRITICAL", level));
  EXPECT_EQ(level, LogLevel::Critical);
  EXPECT_FALSE(parse_log_level("verbose", level));
  EXPECT_FALSE(parse_log_level("", level));
  EXPECT_EQ(level, LogLevel::Critical);
}

TEST_F(LoggerTest, ControlCharactersAreEscaped) {
  log::write(LogLevel::Info, "a\rb\x1b[31mc\x7f" + std::string(1, '\0') + "d\xc2\x9b" + "e\tf\xc3\xa4");
  EXPECT_THAT(read_now(), ::testing::HasSubstr("a\\x0db\\x1b[31mc\\x7f\\x00d\\xc2\\x9be\tf\xc3\xa4\n"));
}

TEST_F(LoggerTest, ATracebackKeepsItsLines) {
  log::write(LogLevel::Error, "Traceback\n  File \"x\"\nKeyError\n");
  const std::string lines = read_now();
  EXPECT_THAT(lines, ::testing::EndsWith("[error] Traceback\n  File \"x\"\nKeyError\n"));
  EXPECT_EQ(std::ranges::count(lines, '\n'), 3);
}

TEST_F(LoggerTest, NoColourWithoutATerminal) {
  log::error("plain");
  EXPECT_EQ(read_now().find('\033'), std::string::npos);
}

TEST_F(LoggerTest, TheWriterThreadWritesInOrder) {
  log::start_writer();
  for (int i = 0; i < 500; ++i) log::info("line {};", i);
  const std::string lines = read_until_contains("line 499;");
  std::size_t at = 0;
  for (int i = 0; i < 500; ++i) {
    at = lines.find(fmt::format("line {};", i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(LoggerTest, ALineWakesTheWriterThatSleeps) {
  log::start_writer();
  for (int i = 0; i < 3; ++i) {
    log::info("line {};", i);
    EXPECT_THAT(read_until_contains(fmt::format("line {};", i)), ::testing::HasSubstr(fmt::format("line {};", i)));
    // It sleeps after a pause without lines. Were it still awake, this test would only be weaker.
    pollfd silence{reader_.get(), POLLIN, 0};
    ::poll(&silence, 1, 40);
  }
}

TEST_F(LoggerTest, StoppingWritesWhatIsQueued) {
  log::start_writer();
  for (int i = 0; i < 200; ++i) log::info("line {};", i);
  log::stop_writer(10s);
  EXPECT_THAT(read_now(), ::testing::HasSubstr("line 199;"));
}

TEST_F(LoggerTest, AfterTheStopCallersWriteAgain) {
  log::start_writer();
  log::stop_writer(10s);
  log::info("last words");
  EXPECT_THAT(read_now(), ::testing::HasSubstr("last words"));
}

TEST_F(LoggerTest, StartsAgainAfterAStop) {
  for (int i = 0; i < 3; ++i) {
    log::start_writer();
    log::info("round {}", i);
    log::stop_writer(10s);
    EXPECT_THAT(read_now(), ::testing::HasSubstr(fmt::format("round {}", i)));
  }
}

TEST_F(LoggerTest, NoLineIsLostAroundAStop) {
  for (int round = 0; round < 20; ++round) {
    log::start_writer();
    std::thread other([] {
      for (int i = 0; i < 50; ++i) log::info("x");
    });
    for (int i = 0; i < 5; ++i) log::info("x");
    log::stop_writer(10s);
    other.join();
    const std::string lines = read_now();
    ASSERT_EQ(std::ranges::count(lines, '\n'), 55);
  }
}

TEST_F(LoggerTest, AStalledReaderStopsNobody) {
  log::start_writer();
  fill_stderr();
  const std::uint64_t before = metric_value("m0_log_dropped_lines_total");
  for (int i = 0; i < 20'000; ++i) log::info("line {}", i);  // more than the ring holds; returns or the test hangs
  const std::uint64_t dropped = metric_value("m0_log_dropped_lines_total") - before;
  EXPECT_GE(dropped, 20'000U - 8192U - 64U);
  EXPECT_LT(dropped, 20'000U);

  const std::string lines = read_until_contains("of this log were lost");
  EXPECT_THAT(lines, ::testing::HasSubstr("line 0\n"));
  std::smatch found;
  ASSERT_TRUE(std::regex_search(lines, found, std::regex(R"(\[warning\] (\d+) lines of this log were lost)")));
  EXPECT_EQ(std::stoull(found[1]), dropped) << "announced once, with the number";
}

TEST_F(LoggerTest, WithoutAWriterAFullPipeLosesTheLineAndSaysSoLater) {
  fill_stderr();
  log::info("lost");
  log::info("lost too");
  read_now();
  log::info("heard");
  const std::string lines = read_now();
  EXPECT_EQ(lines.find("lost\n"), std::string::npos);
  EXPECT_THAT(lines, ::testing::HasSubstr("heard\n"));
  log::info("more");
  EXPECT_THAT(lines + read_now(), ::testing::HasSubstr("2 lines of this log were lost"));
}

TEST_F(LoggerTest, StoppingIsBoundedWhileTheReaderIsStalled) {
  log::start_writer();
  fill_stderr();
  for (int i = 0; i < 100; ++i) log::info("line {}", i);
  log::stop_writer(30ms);  // returns or the test hangs: nobody reads
  log::info("after");
  read_now();
}

TEST_F(LoggerTest, AReaderThatComesBackInTimeGetsEverythingAtTheStop) {
  log::start_writer();
  fill_stderr();
  for (int i = 0; i < 100; ++i) log::info("line {};", i);
  std::string lines;
  std::thread reader([&] { lines = read_until_contains("line 99;"); });
  log::stop_writer(20s);
  reader.join();
  EXPECT_THAT(lines, ::testing::HasSubstr("line 99;"));
}

TEST_F(LoggerTest, AClosedPipeIsCountedAndNotFatal) {
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  struct sigaction before{};
  ::sigaction(SIGPIPE, &standard, &before);
  reader_.reset();
  const std::uint64_t failed = metric_value("m0_log_failed_lines_total");
  log::info("by the caller");
  EXPECT_EQ(metric_value("m0_log_failed_lines_total") - failed, 1U);
  log::start_writer();
  log::info("by the writer");
  log::stop_writer(10s);
  EXPECT_GE(metric_value("m0_log_failed_lines_total") - failed, 2U);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST_F(LoggerTest, TheAccessLogIsAppendedAsItIs) {
  const std::string path = file("access.log");
  {
    std::ofstream(path) << "before\n";
  }
  log::open_access(path);
  log::write_access("GET \x01 raw");
  log::start_writer();
  log::write_access("second");
  log::stop_writer(10s);
  EXPECT_EQ(contents(path), "before\nGET \x01 raw\nsecond\n");
}

TEST_F(LoggerTest, ANewAccessLogIsReadableByOthersAndWritableByUs) {
  const mode_t mask = ::umask(022);
  log::open_access(file("access.log"));
  ::umask(mask);
  struct stat what{};
  ASSERT_EQ(::stat(file("access.log").c_str(), &what), 0);
  EXPECT_EQ(what.st_mode & 0777U, 0644U);
}

TEST_F(LoggerTest, AnAccessLogThatCannotBeOpenedThrows) {
  EXPECT_THROW(log::open_access(file("no/such/dir")), std::system_error);
  ASSERT_EQ(::mkfifo(file("fifo").c_str(), 0600), 0);
  EXPECT_THROW(log::open_access(file("fifo")), std::system_error) << "nobody reads it: an error, not a hang";
}

TEST_F(LoggerTest, WithoutAnAccessLogItsLinesGoNowhere) {
  log::write_access("nobody asked");
  EXPECT_EQ(read_now(), "");
}

TEST_F(LoggerTest, AStalledAccessLogDoesNotDelayTheServersLog) {
  ASSERT_EQ(::mkfifo(file("fifo").c_str(), 0600), 0);
  const Fd stalled(::open(file("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  log::open_access(file("fifo"));
  log::start_writer();
  for (int i = 0; i < 2000; ++i) log::write_access(std::string(200, 'x'));
  log::info("still here");
  EXPECT_THAT(read_until_contains("still here"), ::testing::HasSubstr("still here"));
  log::stop_writer(10ms);
}

TEST_F(LoggerTest, AFullDiskIsSaidOnceAndCounted) {
  log::open_access("/dev/full");
  const std::uint64_t failed = metric_value("m0_log_failed_lines_total");
  log::start_writer();
  for (int i = 0; i < 300; ++i) log::write_access("line");
  log::stop_writer(10s);
  EXPECT_EQ(metric_value("m0_log_failed_lines_total") - failed, 300U);
  const std::string lines = read_now();
  EXPECT_THAT(lines, ::testing::HasSubstr("the access log cannot be written (No space left on device)"));
  EXPECT_EQ(std::ranges::count(lines, '\n'), 1);
}

TEST_F(LoggerTest, AWorkersLogWorksAgainAfterTheFork) {
  fd_registry::install_fork_hooks();
  const std::string path = file("access.log");
  log::open_access(path);
  log::start_writer();
  std::atomic<bool> stop{false};
  std::thread noise([&] {  // forks meet it inside the logger
    while (!stop) log::info("noise");
  });
  std::thread reader([&] {
    while (!stop) read_now();
  });
  for (int i = 0; i < 30; ++i) {
    const fd_registry::IntendedFork guard;
    const pid_t child = ::fork();
    if (child == 0) {
      log::info("direct");
      if (kThreadsAfterFork) log::start_writer();
      log::write_access("from a worker");
      log::stop_writer(10s);
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  noise.join();
  reader.join();
  const std::string lines = contents(path);
  EXPECT_EQ(std::ranges::count(lines, '\n'), 30);
}

TEST_F(LoggerTest, AChildOfTheApplicationWritesToStandardErrorOnly) {
  fd_registry::install_fork_hooks();
  log::open_access(file("access.log"));
  log::start_writer();
  const pid_t child = ::fork();
  if (child == 0) {
    int reused = -1;  // all numbers that the child has lost
    for (int i = 0; i < 64; ++i) reused = ::open(file("theirs").c_str(), O_WRONLY | O_CREAT, 0600);
    log::write_access("must not go into a file of the child's");
    log::info("from a child");
    ::_exit(reused >= 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(read_until_contains("from a child"),
              ::testing::HasSubstr(fmt::format("[{}] [info] from a child", child)));
  EXPECT_EQ(contents(file("theirs")), "");
}

TEST_F(LoggerTest, AChildDoesNotWriteItsParentsLines) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  log::start_writer();
  fill_stderr();
  for (int i = 0; i < 200; ++i) log::info("parent's {};", i);  // some in the writer's hands, most still in the ring
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    ::close(ends[1]);
    static_cast<void>(!::read(ends[0], &byte, 1));  // until there is room to write
    if (kThreadsAfterFork) log::start_writer();
    log::info("child's own");
    log::stop_writer(10s);
    ::_exit(0);
  }
  ::close(ends[0]);
  read_until_contains("parent's 199;");
  ::close(ends[1]);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const std::string lines = read_until_contains("child's own");
  EXPECT_THAT(lines, ::testing::HasSubstr("child's own"));
  for (const char* line : {"parent's 0;", "parent's 100;", "parent's 199;"}) {
    EXPECT_EQ(lines.find(line), lines.rfind(line)) << line;
  }
}

TEST_F(LoggerTest, TheWriterTakesNoSignals) {
  log::start_writer();
  log::info("here");
  read_until_contains("here");
  bool found = false;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string text((std::istreambuf_iterator<char>(status)), {});
    if (text.find("Name:\tm0-log") == std::string::npos) continue;
    found = true;
    const std::uint64_t mask = std::stoull(text.substr(text.find("SigBlk:") + 7), nullptr, 16);
    for (int number : {SIGTERM, SIGINT, SIGPIPE, SIGCHLD, SIGHUP}) EXPECT_TRUE((mask >> (number - 1)) & 1U) << number;
    for (int number : {SIGSEGV, SIGABRT}) EXPECT_FALSE((mask >> (number - 1)) & 1U) << number;
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace m0::base
