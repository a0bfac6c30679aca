#include "m0/pubsub/event_log_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace m0::pubsub {
namespace {

class EventLogFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "m0-log-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    path_ = folder + "/events";
  }

  static LogConfig config(std::size_t size = kMinLogSize) { return {.size = size}; }
  /// A life of the log: opens the file, does something, and ends as it is told.
  struct Life {
    EventLog log;
    std::expected<EventLogFile, std::string> file;
    explicit Life(const std::string& path, LogConfig settings = config())
        : log(settings), file(EventLogFile::open(path, log)) {}
    std::uint64_t publish(std::string_view data, bool control = false) {
      return log.try_append({.channel = "a", .data = data, .name = "n", .control = control}).value_or(0);
    }
    bool finish() { return file->finish(log, std::chrono::seconds(5)).has_value(); }
    [[nodiscard]] std::vector<std::string> all() const {
      std::vector<std::string> found;
      Record record;
      for (std::uint64_t at = log.tail(); log.read(at, record) == EventLog::Read::Ok; at = record.next_position()) {
        found.push_back(std::to_string(record.seq()) + ":" + std::string(record.data()));
      }
      return found;
    }
  };
  void write_behind(EventLog& log) {
    EventLogWriter writer(path_, log);
    EventLogWriter::Step said = EventLogWriter::Step::More;
    while (said == EventLogWriter::Step::More) said = writer.step();
    EXPECT_EQ(said, EventLogWriter::Step::Idle) << writer.failure();
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void put(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::string path_;
};

TEST_F(EventLogFileTest, AfterACleanStopTheLogGoesOn) {
  std::uint64_t epoch = 0;
  {
    Life life(path_);
    ASSERT_TRUE(life.file) << life.file.error();
    EXPECT_EQ(life.file->restored().events, 0u);
    epoch = life.log.epoch();
    life.publish("one");
    life.publish("to a worker", true);
    write_behind(life.log);
    life.publish("two");
    EXPECT_TRUE(life.finish());
  }
  Life life(path_);
  ASSERT_TRUE(life.file);
  EXPECT_TRUE(life.file->restored().clean);
  EXPECT_EQ(life.file->restored().events, 2u);
  EXPECT_EQ(life.log.epoch(), epoch);
  EXPECT_EQ(life.all(), (std::vector<std::string>{"1:one", "2:to a worker", "3:two"}));
  EXPECT_EQ(life.publish("three"), 4u);
  Record record;
  ASSERT_EQ(life.log.read(life.log.tail(), record), EventLog::Read::Ok);
  EXPECT_EQ(record.name(), "n");
}

TEST_F(EventLogFileTest, WithoutTheMarkItBeginsAnotherEpochWithWhatIsLeft) {
  std::uint64_t epoch = 0;
  {
    Life life(path_);
    epoch = life.log.epoch();
    life.publish("one");
    life.publish("to a worker", true);
    life.publish("two");
    write_behind(life.log);
    life.publish("never written");
  }
  Life life(path_);
  EXPECT_FALSE(life.file->restored().clean);
  EXPECT_NE(life.log.epoch(), epoch);
  EXPECT_EQ(life.all(), (std::vector<std::string>{"1:one", "2:two"}));
}

TEST_F(EventLogFileTest, AMarkThatWasPassedCountsForNothing) {
  {
    Life life(path_);
    life.publish("one");
    EXPECT_TRUE(life.finish());
  }
  std::uint64_t epoch = 0;
  {
    Life life(path_);
    epoch = life.log.epoch();
    life.publish("two");  // killed before it was written
  }
  Life life(path_);
  EXPECT_FALSE(life.file->restored().clean) << "the number of the lost event may be known to somebody";
  EXPECT_NE(life.log.epoch(), epoch);
}

TEST_F(EventLogFileTest, AnEmptyLogGoesOnToo) {
  std::uint64_t epoch = 0;
  {
    Life life(path_);
    epoch = life.log.epoch();
    EXPECT_TRUE(life.finish());
  }
  Life life(path_);
  EXPECT_TRUE(life.file->restored().clean);
  EXPECT_EQ(life.log.epoch(), epoch);
  EXPECT_EQ(life.publish("first"), 1u);
}

TEST_F(EventLogFileTest, WhatLeftTheLogIsTold) {
  {
    Life life(path_);
    for (int i = 0; i < 5000; ++i) {
      life.publish("an event of some length, so that the log goes round: " + std::to_string(i));
      if (i % 100 == 0) write_behind(life.log);
    }
    EXPECT_TRUE(life.finish());
  }
  struct stat facts{};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_LT(static_cast<std::size_t>(facts.st_size), 2 * kMinLogSize);
  ASSERT_EQ(::stat((path_ + ".1").c_str(), &facts), 0) << "the file that was full before it";
  Life life(path_);
  EXPECT_TRUE(life.file->restored().clean);
  EXPECT_EQ(life.log.last_seq(), 5000u);
  Record record;
  ASSERT_EQ(life.log.read(life.log.tail(), record), EventLog::Read::Ok);
  EXPECT_GT(record.seq(), 4000u);
  EXPECT_EQ(life.log.dropped_mark(hash_channel("a")), record.seq() - 1);
  EXPECT_GT(life.log.dropped_mark(hash_channel("another")), 0u) << "nobody knows what it had";
}

TEST_F(EventLogFileTest, ATornEndIsLeftOut) {
  {
    Life life(path_);
    life.publish("one");
    life.publish("two");
    write_behind(life.log);
  }
  const std::string whole = bytes_of(path_);
  for (std::size_t cut = 1; cut < 45; ++cut) {
    put(path_, std::string_view(whole).substr(0, whole.size() - cut));
    Life life(path_);
    ASSERT_TRUE(life.file) << life.file.error();
    EXPECT_EQ(life.all(), std::vector<std::string>{"1:one"}) << cut;
  }
}

TEST_F(EventLogFileTest, ABrokenByteEndsWhatIsRead) {
  {
    Life life(path_);
    life.publish("one");
    life.publish("two");
    EXPECT_TRUE(life.finish());
  }
  const std::string whole = bytes_of(path_);
  for (std::size_t at = 40; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 1);
    put(path_, broken);
    Life life(path_);
    ASSERT_TRUE(life.file);
    EXPECT_FALSE(life.file->restored().clean) << at;
    EXPECT_LE(life.file->restored().events, 2u);
  }
}

TEST_F(EventLogFileTest, AnotherLogsSizeMayBeSmaller) {
  const std::string large(6000, 'x');
  {
    Life life(path_, config(std::size_t{1} << 20U));
    life.publish("before");
    life.publish(large);
    life.publish("after");
    EXPECT_TRUE(life.finish());
  }
  Life life(path_);  // a sixteenth of it is less than 6000 bytes
  EXPECT_EQ(life.all(), std::vector<std::string>{"3:after"});
  EXPECT_EQ(life.log.dropped_mark(hash_channel("a")), 2u);
}

TEST_F(EventLogFileTest, TwoServersDoNotShareIt) {
  Life life(path_);
  ASSERT_TRUE(life.file);
  Life other(path_);
  ASSERT_FALSE(other.file);
  EXPECT_NE(other.file.error().find("another server's"), std::string::npos) << other.file.error();
}

TEST_F(EventLogFileTest, OneThatIsAboutToLeaveIsWaitedFor) {
  std::optional<Life> life(std::in_place, path_);
  ASSERT_TRUE(life->file);
  std::atomic<bool> waits{false};
  std::thread leaver([&] {
    while (!waits) std::this_thread::yield();
    life.reset();
  });
  EventLog log(config());
  waits = true;
  const auto file = EventLogFile::open(path_, log, std::chrono::seconds(30));
  leaver.join();
  EXPECT_TRUE(file) << file.error();
}

TEST_F(EventLogFileTest, WhatIsNoEventLogIsLeftAlone) {
  put(path_, "a letter to grandmother, and long enough to be mistaken for a header of ours");
  Life life(path_);
  ASSERT_FALSE(life.file);
  EXPECT_NE(life.file.error().find("no event log"), std::string::npos);
  EXPECT_TRUE(bytes_of(path_).starts_with("a letter"));
  Life nowhere(path_ + "/not/there");
  ASSERT_FALSE(nowhere.file);
  EXPECT_NE(nowhere.file.error().find("cannot be used"), std::string::npos);
}

TEST_F(EventLogFileTest, OneProcessWritesAndAnotherGoesOn) {
  Life life(path_);
  life.publish("one");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    EventLogWriter writer(path_, life.log);
    const bool wrote = writer.step() == EventLogWriter::Step::Idle;
    static_cast<void>(::write(ready[1], wrote ? "y" : "n", 1));
    ::pause();
  }
  char said = 0;
  ASSERT_EQ(::read(ready[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  EventLogWriter writer(path_, life.log);
  life.publish("two");
  EXPECT_EQ(writer.step(), EventLogWriter::Step::NotOurs);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(writer.step(), EventLogWriter::Step::Idle);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_FALSE(life.finish()) << "this test still writes it";
  EXPECT_TRUE(writer.finish(std::chrono::seconds(5)));
}

TEST_F(EventLogFileTest, AFullDiskLeavesTheFileThatWasFull) {
  Life life(path_);
  const std::string event(1000, 'x');
  while (life.log.saved().file_end < life.log.capacity()) {
    life.publish(event);
    write_behind(life.log);
  }
  const std::string full = bytes_of(path_);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EventLogWriter writer(path_, life.log);
  for (int tries = 0; tries < 3; ++tries) {
    life.publish(event);
    EXPECT_EQ(writer.step(), EventLogWriter::Step::Failed);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(writer.step(), EventLogWriter::Step::Idle);
  EXPECT_EQ(bytes_of(path_ + ".1"), full);
}

TEST_F(EventLogFileTest, AFileThatWasTakenAwayIsBegunAnew) {
  for (const bool cut : {false, true}) {
    Life life(path_);
    life.publish("one");
    EventLogWriter writer(path_, life.log);
    EXPECT_EQ(writer.step(), EventLogWriter::Step::Idle);
    if (cut) {
      ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
    } else {
      ASSERT_EQ(::unlink(path_.c_str()), 0);
    }
    life.publish("two");
    EXPECT_EQ(writer.step(), EventLogWriter::Step::Failed);
    EXPECT_EQ(writer.step(), EventLogWriter::Step::Idle);
    EXPECT_TRUE(writer.finish(std::chrono::seconds(5)));
    life.file = std::unexpected("closed");
    {
      Life next(path_);
      ASSERT_TRUE(next.file) << next.file.error();
      EXPECT_TRUE(next.file->restored().clean);
      EXPECT_EQ(next.all(), (std::vector<std::string>{"1:one", "2:two"})) << "all that the log held";
    }
    ASSERT_EQ(::unlink(path_.c_str()), 0);
  }
}

TEST_F(EventLogFileTest, AFullDiskIsTriedAgain) {
  Life life(path_);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  life.publish(std::string(500, 'x'));
  EventLogWriter writer(path_, life.log);
  EXPECT_EQ(writer.step(), EventLogWriter::Step::Failed);
  EXPECT_FALSE(writer.failure().empty());
  life.publish("more");
  EXPECT_EQ(writer.step(), EventLogWriter::Step::Failed);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(writer.step(), EventLogWriter::Step::Idle);
  EXPECT_TRUE(writer.finish(std::chrono::seconds(5)));
  life.file = std::unexpected("closed");
  Life next(path_);
  EXPECT_TRUE(next.file->restored().clean);
  EXPECT_EQ(next.file->restored().events, 2u);
}

}  // namespace
}  // namespace m0::pubsub
