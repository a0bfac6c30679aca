#pragma once
// The event log's file (--event-log): what was published survives the end of the server.
//
// It is written behind: publishers never wait for a disk. Two files take turns: FILE, and FILE.1 that was full before
// it. Each begins with the epoch of the log; then come the records in their order, each with a checksum; a clean stop
// ends the last one with a mark. After a clean stop the log goes on where it was: the same epoch, the next number.
// Without the mark events may have been told that were never written, so the log begins another epoch with what is
// left: clients that come back get one gap and then everything, and no id is ever issued twice.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "m0/base/clock.hpp"
#include "m0/base/fd.hpp"
#include "m0/pubsub/event_log.hpp"
#include "m0/pubsub/record.hpp"

namespace m0::pubsub {

/// What a start has found.
struct Restored {
  std::uint64_t events = 0;
  bool existed = false;      // there was an earlier life
  bool clean = false;        // the log goes on; else it has begun anew
  std::string warning = {};  // what is to be told of the file, if anything
};

/// One server's hold on its file, from before its workers are forked until after they have gone. One thread.
class EventLogFile {
 public:
  /// Takes the file for this server, and what is in it into `log`, which nobody else uses yet. While another server has
  /// it, this waits so long: workers of one that was killed leave by themselves. An error is one sentence.
  [[nodiscard]] static std::expected<EventLogFile, std::string> open(const std::string& path, EventLog& log,
                                                                     base::Duration patience = base::Duration::zero());

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const Restored& restored() const noexcept { return restored_; }

  /// Nobody publishes any more: writes what is left, and the mark, if a disk takes it within `patience`. An error is
  /// one sentence; the next start then begins anew.
  [[nodiscard]] std::expected<void, std::string> finish(EventLog& log, base::Duration patience);

 private:
  EventLogFile(std::string path, base::Fd lock) noexcept : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  base::Fd lock_;
  Restored restored_;
};

/// Writes behind. Each process that reads the log may have one; a lock decides which of them writes, and when that one
/// is gone another goes on. One thread.
class EventLogWriter {
 public:
  EventLogWriter(std::string path, EventLog& log) : path_(std::move(path)), log_(log) {}

  enum class Step : std::uint8_t {
    NotOurs,  // another process writes
    Idle,     // everything is written
    More,     // there is more
    Failed,   // the disk takes no more: to be tried again
  };
  [[nodiscard]] Step step();
  /// Whether the last step wrote something.
  [[nodiscard]] bool wrote() const noexcept { return wrote_; }
  /// Of Failed: for the end of a sentence.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  /// Everything, and the mark of a clean stop.
  [[nodiscard]] bool finish(base::Duration patience);

 private:
  [[nodiscard]] bool lead();
  [[nodiscard]] bool open_file();
  [[nodiscard]] bool begin_file();
  /// Whether what is open is still what the path names, with all that was written.
  [[nodiscard]] bool still_there() const;
  [[nodiscard]] bool write(std::string_view bytes);
  bool failed(const char* what);

  std::string path_;
  EventLog& log_;
  base::Fd lock_;
  base::Fd file_;
  std::string batch_;
  std::string failure_;
  Record record_;
  bool leads_ = false;
  bool wrote_ = false;
};

}  // namespace m0::pubsub
