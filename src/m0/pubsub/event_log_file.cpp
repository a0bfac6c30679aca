#include "m0/pubsub/event_log_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "m0/base/check.hpp"
#include "m0/base/metric.hpp"

namespace m0::pubsub {
namespace {

using base::metric::Counter;

const Counter g_written("m0_events_written_total", "Events that were written to the event log's file");
const Counter g_failures("m0_event_log_write_failures_total", "Times that the event log's file could not be written");
const Counter g_unwritten("m0_events_unwritten_total",
                          "Times that events left the log before they were written to its file");

constexpr std::uint32_t kMagic = 0x6530'6d01;  // "m0e" and the version of what follows
// More than the largest log there can be.
constexpr off_t kLargestFile = off_t{40} << 30U;
constexpr std::size_t kBatch = std::size_t{1} << 20U;

enum class Entry : std::uint8_t { Start = 1, Event = 2, Control = 3, Clean = 4 };

/// At the start of each entry, in the machine's byte order: a file is not carried elsewhere. The checksum is of all
/// that follows it.
struct EntryHeader {
  std::uint32_t magic = kMagic;
  std::uint32_t checksum = 0;
  std::uint32_t bytes = 0;  // of the entry, this header included
  std::uint32_t data_length = 0;
  std::uint64_t seq = 0;  // of Start: the epoch
  std::int64_t time_ms = 0;
  Entry kind = Entry::Start;
  std::uint8_t binary = 0;
  std::uint8_t channel_length = 0;
  std::uint8_t name_length = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(EntryHeader) == 40);
constexpr std::size_t kChecked = offsetof(EntryHeader, bytes);

void append_entry(std::string& out, EntryHeader header, std::string_view channel, std::string_view name,
                  std::string_view data) {
  header.channel_length = static_cast<std::uint8_t>(channel.size());
  header.name_length = static_cast<std::uint8_t>(name.size());
  header.data_length = static_cast<std::uint32_t>(data.size());
  header.bytes = static_cast<std::uint32_t>(sizeof header + channel.size() + name.size() + data.size());
  const std::size_t at = out.size();
  out.append(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(channel).append(name).append(data);
  const auto* const checked = reinterpret_cast<const Bytef*>(out.data() + at + kChecked);
  const auto checksum = static_cast<std::uint32_t>(::crc32(0, checked, static_cast<uInt>(header.bytes - kChecked)));
  std::memcpy(out.data() + at + offsetof(EntryHeader, checksum), &checksum, sizeof checksum);
}

void append_mark(std::string& out, Entry kind, std::uint64_t number) {
  append_entry(out, {.seq = number, .kind = kind}, {}, {}, {});
}

void append_record(std::string& out, const Record& record) {
  append_entry(out,
               {.seq = record.seq(),
                .time_ms = record.time_ms(),
                .kind = record.control() ? Entry::Control : Entry::Event,
                .binary = record.binary() ? std::uint8_t{1} : std::uint8_t{0}},
               record.channel(), record.name(), record.data());
}

/// One entry that was read, a view of its file's bytes.
struct Found {
  EntryHeader header;
  std::string_view text;
  [[nodiscard]] NewEvent event() const noexcept {
    return {.channel = text.substr(0, header.channel_length),
            .data = text.substr(std::size_t{header.channel_length} + header.name_length),
            .name = text.substr(header.channel_length, header.name_length),
            .binary = header.binary != 0,
            .control = header.kind == Entry::Control};
  }
};

/// The next entry, taken off; nothing at the end, or where what was written last is torn.
std::optional<Found> take_entry(std::string_view& bytes) noexcept {
  Found found;
  if (bytes.size() < sizeof found.header) return std::nullopt;
  std::memcpy(&found.header, bytes.data(), sizeof found.header);
  const EntryHeader& header = found.header;
  const std::size_t texts = std::size_t{header.channel_length} + header.name_length + header.data_length;
  if (header.magic != kMagic || header.bytes > bytes.size() || header.bytes != sizeof header + texts) {
    return std::nullopt;
  }
  const auto* const checked = reinterpret_cast<const Bytef*>(bytes.data() + kChecked);
  if (::crc32(0, checked, static_cast<uInt>(header.bytes - kChecked)) != header.checksum) return std::nullopt;
  found.text = bytes.substr(sizeof header, texts);
  bytes.remove_prefix(header.bytes);
  return found;
}

/// What both files say together: the newest run of records without a hole.
class History {
 public:
  void read(std::string_view bytes) {
    clean_ = false;
    while (const auto found = take_entry(bytes)) {
      if (found->header.kind == Entry::Start) {
        if (found->header.seq != epoch_) records_.clear();
        epoch_ = found->header.seq;
      } else if (found->header.kind == Entry::Clean) {
        clean_ = bytes.empty() && (records_.empty() || records_.back().header.seq == found->header.seq);
        last_ = found->header.seq;
      } else if (records_.empty() || found->header.seq > records_.back().header.seq) {
        // Else it was written twice, by a writer that was killed before it could say so.
        if (!records_.empty() && found->header.seq != records_.back().header.seq + 1) records_.clear();
        records_.push_back(*found);
      }
    }
  }
  /// Takes it into a log that is new.
  [[nodiscard]] Restored restore(EventLog& log) const {
    const std::size_t first = first_that_fits(log);
    if (clean_) log.go_on(epoch_, first == records_.size() ? last_ : records_[first].header.seq - 1);
    Restored restored{.existed = epoch_ != 0, .clean = clean_};
    for (std::size_t i = first; i < records_.size(); ++i) {
      const bool control = records_[i].header.kind == Entry::Control;
      // What servers told each other is over; but where the numbers go on, each is taken.
      if (control && !clean_) continue;
      M0_CHECK(log.restore(records_[i].event(), records_[i].header.time_ms));
      if (!control) ++restored.events;
    }
    return restored;
  }

 private:
  /// One that is too large for this log, which may have been another's size before, leaves a hole: what is before it is
  /// left out too.
  [[nodiscard]] std::size_t first_that_fits(const EventLog& log) const {
    const auto misfit = std::find_if(records_.rbegin(), records_.rend(), [&](const Found& record) {
      return record.text.size() > log.largest_event() || record.header.channel_length == 0;
    });
    return static_cast<std::size_t>(records_.rend() - misfit);
  }

  std::vector<Found> records_;
  std::uint64_t epoch_ = 0;
  std::uint64_t last_ = 0;
  bool clean_ = false;
};

std::string error_text(int error) { return ::strerror(error); }

/// The whole file; empty where there is none.
std::expected<std::string, int> read_file(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a fifo has no other end
  if (!file) {
    if (errno == ENOENT) return std::string();
    return std::unexpected(errno);
  }
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return std::unexpected(errno);
  if (!S_ISREG(facts.st_mode)) return std::unexpected(EINVAL);
  if (facts.st_size > kLargestFile) return std::unexpected(EFBIG);
  std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

/// 0, or what went wrong.
int write_all(int fd, std::string_view bytes, std::uint64_t at) noexcept {
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    at += static_cast<std::uint64_t>(wrote);
  }
  return 0;
}

base::Fd open_lock(const std::string& path) {
  return base::Fd(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

/// Byte 0 is the server's, byte 1 the writer's. Held by this opening of the file: gone with its last descriptor.
bool take_byte(int fd, off_t byte) noexcept {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/// A file with everything that the log holds, in place of what was there.
int rewrite(const std::string& path, EventLog& log) {
  std::string bytes;
  append_mark(bytes, Entry::Start, log.epoch());
  Record record;
  for (std::uint64_t at = log.tail(); log.read(at, record) == EventLog::Read::Ok; at = record.next_position()) {
    append_record(bytes, record);
  }
  const std::string fresh = path + ".new";
  const base::Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno;
  int error = write_all(file.get(), bytes, 0);
  if (error == 0 && (::fdatasync(file.get()) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0)) error = errno;
  if (error != 0) {
    ::unlink(fresh.c_str());
    return error;
  }
  ::unlink((path + ".1").c_str());
  log.saved().position.store(log.head(), std::memory_order_relaxed);
  log.saved().file_end.store(bytes.size(), std::memory_order_relaxed);
  return 0;
}

/// Where there is no room for another copy: goes on behind what is there, if that can be made to look like a life that
/// has not ended.
bool keep_as_it_is(const std::string& path, EventLog& log, bool clean, std::size_t size) {
  EventLog::Saved& saved = log.saved();
  if (!clean) {
    // All that was restored has other numbers now: it is written again when there is room.
    saved.position.store(log.tail(), std::memory_order_relaxed);
    saved.file_end.store(0, std::memory_order_relaxed);
    return true;
  }
  const std::size_t end = size - sizeof(EntryHeader);  // without the mark
  if (::truncate(path.c_str(), static_cast<off_t>(end)) != 0) return false;
  saved.position.store(log.head(), std::memory_order_relaxed);
  saved.file_end.store(end, std::memory_order_relaxed);
  return true;
}

}  // namespace

std::expected<EventLogFile, std::string> EventLogFile::open(const std::string& path, EventLog& log,
                                                            base::Duration patience) {
  const auto sorry = [&](const std::string& name, int error) {
    return std::unexpected(
        fmt::format("the event log's file {} cannot be used ({}); give --event-log a path that can "
                    "be written",
                    name, error_text(error)));
  };
  base::Fd lock = open_lock(path);
  if (!lock) return sorry(path + ".lock", errno);
  const base::Instant until = base::now() + patience;
  while (!take_byte(lock.get(), 0)) {
    if (base::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    return std::unexpected(
        fmt::format("the event log's file {} is another server's, which runs; give --event-log another path", path));
  }
  EventLogFile file(path, std::move(lock));
  const std::array<std::string, 2> names{path + ".1", path};
  std::array<std::string, 2> contents;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto bytes = read_file(names[i]);
    if (!bytes) return sorry(names[i], bytes.error());
    std::string_view rest = *bytes;
    const auto first = take_entry(rest);
    // A file that is all zeros was made by a system that went down.
    const bool ours =
        (first && first->header.kind == Entry::Start) || bytes->find_first_not_of('\0') == std::string::npos;
    if (!ours) {
      return std::unexpected(
          fmt::format("{} is no event log of this version; give --event-log another path", names[i]));
    }
    contents[i] = std::move(*bytes);
  }
  History history;
  for (const std::string& bytes : contents) history.read(bytes);
  file.restored_ = history.restore(log);
  const int error = rewrite(path, log);
  if (error == ENOSPC || error == EDQUOT) {
    if (!keep_as_it_is(path, log, file.restored_.clean, contents[1].size())) return sorry(path, errno);
    file.restored_.warning =
        fmt::format("there is no room beside the event log's file {} ({})", path, error_text(error));
  } else if (error != 0) {
    return sorry(path, error);
  }
  return file;
}

std::expected<void, std::string> EventLogFile::finish(EventLog& log, base::Duration patience) {
  EventLogWriter writer(path_, log);
  if (writer.finish(patience)) return {};
  return std::unexpected(fmt::format("the event log's file {} could not be completed ({}): the next start begins anew",
                                     path_, writer.failure()));
}

// ---- writing behind

bool EventLogWriter::failed(const char* what) {
  failure_ = fmt::format("{}: {}", what, error_text(errno));
  g_failures.add();
  file_.reset();
  return false;
}

bool EventLogWriter::lead() {
  if (leads_) return true;
  if (!lock_) lock_ = open_lock(path_);
  leads_ = lock_ && take_byte(lock_.get(), 1);
  return leads_;
}

bool EventLogWriter::still_there() const {
  struct stat named{};
  struct stat open{};
  return ::stat(path_.c_str(), &named) == 0 && ::fstat(file_.get(), &open) == 0 && named.st_ino == open.st_ino &&
         named.st_dev == open.st_dev &&
         static_cast<std::uint64_t>(open.st_size) >= log_.saved().file_end.load(std::memory_order_relaxed);
}

bool EventLogWriter::open_file() {
  EventLog::Saved& saved = log_.saved();
  const std::uint64_t end = saved.file_end.load(std::memory_order_relaxed);
  if (end >= log_.capacity()) {
    saved.file_end.store(0, std::memory_order_relaxed);
    return begin_file();
  }
  if (end == 0) return begin_file();
  if (!file_) file_ = base::Fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file_ && still_there()) return true;
  // Somebody took it away, or cut it: all that the log holds is written anew.
  saved.file_end.store(0, std::memory_order_relaxed);
  saved.position.store(log_.tail(), std::memory_order_relaxed);
  static_cast<void>(begin_file());
  failure_ = "the file was taken away or cut; it is begun anew";
  return false;
}

bool EventLogWriter::begin_file() {
  file_.reset();
  struct stat before{};
  const bool holds_something =
      ::stat(path_.c_str(), &before) == 0 && static_cast<std::size_t>(before.st_size) > sizeof(EntryHeader);
  if (holds_something && ::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) return failed("rename");
  file_ = base::Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file_) return failed("open");
  std::string start;
  append_mark(start, Entry::Start, log_.epoch());
  return write(start);
}

bool EventLogWriter::write(std::string_view bytes) {
  EventLog::Saved& saved = log_.saved();
  const std::uint64_t end = saved.file_end.load(std::memory_order_relaxed);
  if (const int error = write_all(file_.get(), bytes, end); error != 0) {
    errno = error;
    return failed("write");
  }
  saved.file_end.store(end + bytes.size(), std::memory_order_relaxed);
  return true;
}

EventLogWriter::Step EventLogWriter::step() {
  EventLog::Saved& saved = log_.saved();
  std::uint64_t position = saved.position.load(std::memory_order_relaxed);
  wrote_ = false;
  if (position == log_.head()) return lead() ? Step::Idle : Step::NotOurs;
  if (!lead()) return Step::NotOurs;
  position = saved.position.load(std::memory_order_relaxed);  // of whoever led before
  batch_.clear();
  std::uint64_t records = 0;
  bool more = true;
  while (batch_.size() < kBatch) {
    const EventLog::Read read = log_.read(position, record_);
    if (read == EventLog::Read::AtEnd) {
      more = false;
      break;
    }
    if (read == EventLog::Read::Overwritten) {
      g_unwritten.add();
      position = log_.tail();
      continue;
    }
    append_record(batch_, record_);
    position = record_.next_position();
    ++records;
  }
  if (!open_file() || !write(batch_)) return Step::Failed;
  saved.position.store(position, std::memory_order_relaxed);
  wrote_ = true;
  g_written.add(records);
  if (batch_.capacity() > kBatch) std::string().swap(batch_);
  return more ? Step::More : Step::Idle;
}

bool EventLogWriter::finish(base::Duration patience) {
  const base::Instant until = base::now() + patience;
  Step said = Step::More;
  while (said == Step::More && base::now() < until) said = step();
  // A file that was taken away is begun anew.
  if (said == Step::Failed) said = step();
  if (said == Step::More) failure_ = "the disk is too slow";
  if (said == Step::NotOurs) failure_ = "another process still writes it";
  if (said != Step::Idle || !open_file()) return false;
  std::string mark;
  append_mark(mark, Entry::Clean, log_.last_seq());
  if (!write(mark)) return false;
  return ::fdatasync(file_.get()) == 0 || failed("fdatasync");
}

}  // namespace m0::pubsub
