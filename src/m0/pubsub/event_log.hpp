#pragma once
// A ring of records in memory that all workers share: the bus between them, the order of events and the journal for
// those who come back, all at once.
//
// The writer, under a robust mutex that processes share. Its steps stand in kAppendSteps; a process may be killed
// between any two, and whoever takes the lock next repairs what it left:
//
//   1. store an intent: where `head` will stand, and the sequence number that is being given
//   2. make room: for each record that has to go, first its eviction mark, then `tail`, and only then may its
//      bytes be overwritten
//   3. copy the record (behind a pad, where it would not fit before the ring's end: records never wrap)
//   4. store `head`: from here on the event exists
//   5. store `last_seq`, which therefore never names an event that does not exist
//   6. clear the intent, unlock, ring those that sleep
//
// The reader takes no lock: it checks that the record is not overwritten, copies it, and checks again. The words are
// loaded with acquire and stored with release (plain moves on x86), so that a reader who has seen one overwritten word
// sees the advanced tail too; fences would do as well, but thread sanitizer cannot see fences.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string_view>

#include "m0/base/clock.hpp"
#include "m0/pubsub/event.hpp"
#include "m0/pubsub/event_id.hpp"
#include "m0/pubsub/record.hpp"

namespace m0::pubsub {

struct LogConfig {
  std::size_t size = std::size_t{16} * 1024 * 1024;  // bytes of the ring; rounded up to whole pages
  std::size_t max_event = std::size_t{256} * 1024;   // channel, name and data together
  unsigned bells = 1;                                // readers that may sleep (workers)
  std::size_t answers = 0;  // bytes of a ring of its own for what readers are asked; 0: it is this one
};

/// The smallest ring there is.
inline constexpr std::size_t kMinLogSize = std::size_t{64} * 1024;
inline constexpr unsigned kMaxBells = 512;

enum class AppendError : std::uint8_t {
  Busy,      // another process has the lock, and still had it when time was up
  TooLarge,  // over max_event, or over a sixteenth of the log
  BadName,   // channel empty or longer than kMaxName, or the name longer
};
[[nodiscard]] std::string_view describe(AppendError error) noexcept;

/// After which step of an append a writer is. Each has its case among the tests that kill and stop writers.
enum class AppendStep : std::uint8_t { Locked, Intended, Marked, Evicted, Copied, Headed, Counted, Cleared, Unlocked };
struct AppendStepName {
  AppendStep step;
  std::string_view name;
};
[[nodiscard]] std::span<const AppendStepName> append_steps() noexcept;

/// Made by the supervisor before it forks; every process that inherits it may use it. Any thread.
class EventLog {
 public:
  /// Throws std::system_error.
  explicit EventLog(const LogConfig& config);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // ---- writing

  /// Tries the lock once: for a loop or the supervisor, which must not wait. The event's sequence number.
  [[nodiscard]] std::expected<std::uint64_t, AppendError> try_append(const NewEvent& event);
  /// Waits at most `patience` for the lock. Without the interpreter's lock.
  [[nodiscard]] std::expected<std::uint64_t, AppendError> append(const NewEvent& event,
                                                                 base::Duration patience = std::chrono::seconds(1));

  // ---- reading

  enum class Read : std::uint8_t {
    Ok,
    AtEnd,        // there is nothing at `position` yet
    Overwritten,  // what was there is gone: go on at tail()
  };
  /// The record at `position`, or, where a pad lies there, the one behind it.
  [[nodiscard]] Read read(std::uint64_t position, Record& into) const { return copy(position, into, true); }
  /// The same, without the name and the data of an event: for an index, which large events should cost nothing.
  [[nodiscard]] Read read_channel(std::uint64_t position, Record& into) const { return copy(position, into, false); }

  /// The end of the newest record and the start of the oldest: bytes ever written, and ever dropped.
  [[nodiscard]] std::uint64_t head() const noexcept;
  [[nodiscard]] std::uint64_t tail() const noexcept;
  /// The newest event's number; 0 before the first. At most one behind what head() shows.
  [[nodiscard]] std::uint64_t last_seq() const noexcept;
  /// The greatest number, of those that were dropped, of any channel that shares this one's mark: what is above was not
  /// dropped. 0: nothing.
  [[nodiscard]] std::uint64_t dropped_mark(std::uint64_t channel_hash) const noexcept;

  /// The newest control record that was dropped, passing ones apart; 0: none.
  [[nodiscard]] std::uint64_t dropped_order() const noexcept;
  /// Where readers answer what one of them, or another process, has asked: what is said there displaces no event.
  [[nodiscard]] EventLog& answers() noexcept { return answers_ ? *answers_ : *this; }

  [[nodiscard]] std::uint64_t epoch() const noexcept;
  [[nodiscard]] EventId last_id() const noexcept { return {epoch(), last_seq()}; }
  [[nodiscard]] std::size_t capacity() const noexcept;
  [[nodiscard]] std::size_t largest_event() const noexcept;
  /// Writers that were found dead inside an append.
  [[nodiscard]] std::uint64_t repairs() const noexcept;

  // ---- an earlier life: see event_log_file.hpp. Before anybody else has the log

  /// Goes on with that epoch, after that number: what was before may have been lost.
  void go_on(std::uint64_t epoch, std::uint64_t last_seq) noexcept;
  /// Appends an event of an earlier life, with its time. False: it is none of this log's.
  [[nodiscard]] bool restore(const NewEvent& event, std::int64_t time_ms);
  /// How far the log was written to its file; for who writes it.
  struct Saved {
    std::atomic<std::uint64_t> position{0};  // of the next record
    std::atomic<std::uint64_t> file_end{0};  // bytes of the file that hold; 0: another one is to be begun
  };
  [[nodiscard]] Saved& saved() noexcept;

  // ---- readers, by their numbers

  [[nodiscard]] unsigned readers() const noexcept;
  /// Which life of that reader it is; each process that reads under a number begins another one.
  [[nodiscard]] std::uint32_t life(unsigned reader) const noexcept;
  [[nodiscard]] static constexpr bool reads(std::uint32_t life) noexcept { return life % 2 == 1; }
  void begin_reading(unsigned reader) noexcept;
  /// By the reader, or by who has seen that its process is gone. Does nothing twice.
  void end_reading(unsigned reader) noexcept;

  // ---- sleeping: one bell a reader

  /// To be polled for reading by the reader of this number.
  [[nodiscard]] int bell_fd(unsigned reader) const noexcept;
  /// "From now on an append must ring me." The reader looks at head() once more after this and before it sleeps.
  void announce_sleep(unsigned reader) noexcept;
  /// Awake again: appends cost nothing more.
  void awake(unsigned reader) noexcept;
  /// Empties the bell after a poll reported it.
  void drain_bell(unsigned reader) noexcept;
  /// Wakes every reader that sleeps. Called by append(); and by the supervisor when a process has died, which may have
  /// been between its append and this.
  void ring() noexcept;

  /// For tests: called after each step, in whatever process appends.
  using StepHook = void (*)(AppendStep);
  static void set_step_hook(StepHook hook) noexcept { g_step_hook.store(hook, std::memory_order_relaxed); }

 private:
  struct Shared;
  class Bells;

  std::expected<std::uint64_t, AppendError> write(const NewEvent& event, std::int64_t time_ms, base::Duration patience);
  /// True when it has the lock. Repairs what a dead owner left.
  [[nodiscard]] bool lock(base::Duration patience);
  void unlock() noexcept;
  void repair() noexcept;
  void make_room(std::uint64_t end) noexcept;
  [[nodiscard]] Read copy(std::uint64_t position, Record& into, bool whole) const;
  [[nodiscard]] RecordHeader header_at(std::uint64_t position) const noexcept;
  [[nodiscard]] std::atomic<std::uint64_t>& word(std::uint64_t position) const noexcept;
  static void reached(AppendStep step) {
    if (const StepHook hook = g_step_hook.load(std::memory_order_relaxed); hook != nullptr) [[unlikely]]
      hook(step);
  }

  static std::atomic<StepHook> g_step_hook;

  std::size_t mapped_ = 0;
  Shared* shared_ = nullptr;
  std::atomic<std::uint64_t>* ring_ = nullptr;
  std::unique_ptr<Bells> bells_;
  std::unique_ptr<EventLog> answers_;
};

}  // namespace m0::pubsub
