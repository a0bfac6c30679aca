#include "m0/pubsub/event_log.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <vector>

#include "m0/base/check.hpp"
#include "m0/base/fd.hpp"
#include "m0/base/metric.hpp"

namespace m0::pubsub {
namespace {

using base::metric::Counter;

const Counter g_appended("m0_events_published_total", "Events that were appended to the event log");
const Counter g_busy("m0_events_refused_busy_total", "Events not published because another process held the log");
const Counter g_too_large("m0_events_refused_large_total", "Events not published because of their size");
const Counter g_dropped("m0_events_dropped_total", "Events that left the log to make room for newer ones");
const Counter g_repaired("m0_event_log_repairs_total", "Writers that were found dead inside an append");

// One a bucket of channels: a collision makes a client believe that it missed something, never the contrary.
constexpr std::size_t kMarks = 16 * 1024;
constexpr std::uint64_t kEpochMask = (std::uint64_t{1} << 48) - 1;

constexpr std::array kAppendSteps{
    AppendStepName{AppendStep::Locked, "locked"},     AppendStepName{AppendStep::Intended, "intended"},
    AppendStepName{AppendStep::Marked, "marked"},     AppendStepName{AppendStep::Evicted, "evicted"},
    AppendStepName{AppendStep::Copied, "copied"},     AppendStepName{AppendStep::Headed, "headed"},
    AppendStepName{AppendStep::Counted, "counted"},   AppendStepName{AppendStep::Cleared, "cleared"},
    AppendStepName{AppendStep::Unlocked, "unlocked"},
};

[[noreturn]] void failed(int error, const char* what) { throw std::system_error(error, std::system_category(), what); }

std::uint64_t new_epoch() {
  std::uint64_t epoch = 0;
  while (epoch == 0) {
    if (::getrandom(&epoch, sizeof epoch, 0) != sizeof epoch) failed(errno, "getrandom");
    epoch &= kEpochMask;
  }
  return epoch;
}

std::size_t whole_pages(std::size_t bytes) noexcept {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

timespec deadline_after(base::Duration patience) noexcept {
  timespec at{};
  ::clock_gettime(CLOCK_MONOTONIC, &at);
  const std::int64_t ns = at.tv_nsec + patience.count();
  at.tv_sec += ns / 1'000'000'000;
  at.tv_nsec = ns % 1'000'000'000;
  return at;
}

std::int64_t wall_ms() noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// A record as words, made before the lock is taken.
class Draft {
 public:
  Draft(const NewEvent& event, std::int64_t time_ms) {
    header_.kind = !event.control  ? RecordHeader::Kind::Event
                   : event.passing ? RecordHeader::Kind::Passing
                                   : RecordHeader::Kind::Control;
    header_.binary = event.binary;
    header_.channel_length = static_cast<std::uint8_t>(event.channel.size());
    header_.name_length = static_cast<std::uint8_t>(event.name.size());
    header_.data_length = static_cast<std::uint32_t>(event.data.size());
    header_.words = static_cast<std::uint32_t>(RecordHeader::words_for(header_.text_bytes()));
    header_.channel_hash = hash_channel(event.channel);
    header_.time_ms = time_ms;
    if (header_.words > small_.size()) large_ = std::make_unique_for_overwrite<std::uint64_t[]>(header_.words);
    std::uint64_t* const at = words();
    at[header_.words - 1] = 0;  // what the text leaves of it
    at[0] = header_.first_word();
    at[2] = header_.channel_hash;
    at[3] = header_.data_length;
    at[4] = static_cast<std::uint64_t>(header_.time_ms);
    char* text = reinterpret_cast<char*>(at + RecordHeader::kWords);
    for (const std::string_view part : {event.channel, event.name, event.data}) {
      text = std::copy(part.begin(), part.end(), text);
    }
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return std::size_t{header_.words} * 8; }
  [[nodiscard]] std::span<const std::uint64_t> numbered(std::uint64_t seq) noexcept {
    words()[1] = seq;
    return {words(), header_.words};
  }

 private:
  std::uint64_t* words() noexcept { return large_ ? large_.get() : small_.data(); }

  RecordHeader header_;
  std::array<std::uint64_t, 128> small_;
  std::unique_ptr<std::uint64_t[]> large_;
};

}  // namespace

std::atomic<EventLog::StepHook> EventLog::g_step_hook{nullptr};

/// The memory that processes share; the ring follows on a page of its own. Atomics only: a process may die anywhere.
struct EventLog::Shared {
  pthread_mutex_t mutex;
  std::uint64_t capacity = 0;  // bytes
  std::uint64_t largest_event = 0;
  std::uint64_t epoch = 0;

  alignas(64) std::atomic<std::uint64_t> head{0};
  std::atomic<std::uint64_t> last_seq{0};
  alignas(64) std::atomic<std::uint64_t> tail{0};
  // The writer's.
  alignas(64) std::atomic<std::uint64_t> intent_seq{0};
  std::atomic<std::uint64_t> intent_end{0};  // 0: no append is under way
  std::atomic<std::uint64_t> repairs{0};
  std::atomic<std::uint64_t> dropped_order{0};
  alignas(64) std::array<std::atomic<std::uint32_t>, kMaxBells> asleep{};
  std::array<std::atomic<std::uint32_t>, kMaxBells> lives{};  // odd: it reads
  Saved saved;
  std::array<std::atomic<std::uint64_t>, kMarks> marks{};
};

class EventLog::Bells {
 public:
  explicit Bells(unsigned count) {
    events_.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
      events_.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      if (!events_.back()) failed(errno, "eventfd");
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return events_.size(); }
  [[nodiscard]] int fd(unsigned reader) const noexcept { return events_[reader].get(); }

 private:
  std::vector<base::Fd> events_;
};

std::span<const AppendStepName> append_steps() noexcept { return kAppendSteps; }

std::string_view describe(AppendError error) noexcept {
  switch (error) {
    case AppendError::Busy: return "the event log was held by another process for too long";
    case AppendError::TooLarge: return "the event is larger than --max-event or a sixteenth of the event log";
    case AppendError::BadName: return "a channel has 1 to 255 bytes, an event's name at most 255";
  }
  return "unknown";
}

EventLog::EventLog(const LogConfig& config) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share them");
  M0_CHECK(config.bells >= 1 && config.bells <= kMaxBells);
  const std::size_t before_ring = whole_pages(sizeof(Shared));
  const std::size_t capacity = whole_pages(std::max(config.size, kMinLogSize));
  mapped_ = before_ring + capacity;
  bells_ = std::make_unique<Bells>(config.bells);

  const base::Fd memory(::memfd_create("m0serve-events", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) failed(errno, "memfd_create");
  if (::ftruncate(memory.get(), static_cast<off_t>(mapped_)) != 0) failed(errno, "ftruncate");
  // Nobody who inherits the mapping can make it end early, which would be a SIGBUS for everybody.
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) failed(errno, "F_ADD_SEALS");
  void* const at = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED) failed(errno, "mmap");

  shared_ = ::new (at) Shared;
  ring_ = reinterpret_cast<std::atomic<std::uint64_t>*>(static_cast<char*>(at) + before_ring);
  shared_->capacity = capacity;
  shared_->largest_event = std::min(config.max_event, capacity / 16);
  shared_->epoch = new_epoch();
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const int made = ::pthread_mutex_init(&shared_->mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  M0_CHECK(made == 0);
  if (config.answers > 0) answers_ = std::make_unique<EventLog>(LogConfig{.size = config.answers});
}

// The mutex is not destroyed: another process may hold it.
EventLog::~EventLog() {
  if (shared_ != nullptr) ::munmap(shared_, mapped_);
}

// ---- writing

std::expected<std::uint64_t, AppendError> EventLog::try_append(const NewEvent& event) {
  return write(event, wall_ms(), base::Duration::zero());
}

std::expected<std::uint64_t, AppendError> EventLog::append(const NewEvent& event, base::Duration patience) {
  return write(event, wall_ms(), patience);
}

std::expected<std::uint64_t, AppendError> EventLog::write(const NewEvent& event, std::int64_t time_ms,
                                                          base::Duration patience) {
  if (event.channel.empty() || event.channel.size() > kMaxName || event.name.size() > kMaxName) {
    return std::unexpected(AppendError::BadName);
  }
  if (event.channel.size() + event.name.size() + event.data.size() > shared_->largest_event) {
    g_too_large.add();
    return std::unexpected(AppendError::TooLarge);
  }
  Draft draft(event, time_ms);
  if (!lock(patience)) {
    g_busy.add();
    return std::unexpected(AppendError::Busy);
  }
  reached(AppendStep::Locked);

  const std::uint64_t head = shared_->head.load(std::memory_order_relaxed);
  const std::uint64_t seq = shared_->last_seq.load(std::memory_order_relaxed) + 1;
  const std::uint64_t to_the_end = shared_->capacity - head % shared_->capacity;
  const std::uint64_t pad = draft.bytes() > to_the_end ? to_the_end : 0;
  const std::uint64_t end = head + pad + draft.bytes();

  shared_->intent_seq.store(seq, std::memory_order_release);
  shared_->intent_end.store(end, std::memory_order_release);
  reached(AppendStep::Intended);
  make_room(end);
  if (pad != 0) {
    RecordHeader header;
    header.words = static_cast<std::uint32_t>(pad / 8);
    word(head).store(header.first_word(), std::memory_order_release);
  }
  const std::span<const std::uint64_t> words = draft.numbered(seq);
  for (std::size_t i = 0; i < words.size(); ++i) {
    word(head + pad + i * 8).store(words[i], std::memory_order_release);
  }
  reached(AppendStep::Copied);
  // Sequentially consistent: either a reader that announces its sleep sees it, or ring() below sees the reader.
  shared_->head.store(end, std::memory_order_seq_cst);
  reached(AppendStep::Headed);
  shared_->last_seq.store(seq, std::memory_order_release);
  reached(AppendStep::Counted);
  shared_->intent_end.store(0, std::memory_order_release);
  reached(AppendStep::Cleared);
  unlock();
  reached(AppendStep::Unlocked);
  g_appended.add();
  ring();
  return seq;
}

bool EventLog::lock(base::Duration patience) {
  int result = ::pthread_mutex_trylock(&shared_->mutex);
  if (result == EBUSY && patience > base::Duration::zero()) {
    const timespec deadline = deadline_after(patience);
    result = ::pthread_mutex_clocklock(&shared_->mutex, CLOCK_MONOTONIC, &deadline);
  }
  if (result == EOWNERDEAD) {
    // Until it is called consistent, our own death would leave it to the next just the same.
    repair();
    ::pthread_mutex_consistent(&shared_->mutex);
    result = 0;
  }
  M0_CHECK(result == 0 || result == EBUSY || result == ETIMEDOUT);
  return result == 0;
}

void EventLog::unlock() noexcept { ::pthread_mutex_unlock(&shared_->mutex); }

void EventLog::repair() noexcept {
  shared_->repairs.fetch_add(1, std::memory_order_relaxed);
  g_repaired.add();
  const std::uint64_t end = shared_->intent_end.load(std::memory_order_relaxed);
  if (end == 0) return;
  // Was `head` stored? Then the event exists, and only has to be counted. Else nothing of it does: what was evicted for
  // it is gone, its marks were set before, and the words that were copied lie where no reader looks.
  if (shared_->head.load(std::memory_order_relaxed) == end) {
    shared_->last_seq.store(shared_->intent_seq.load(std::memory_order_relaxed), std::memory_order_release);
  }
  shared_->intent_end.store(0, std::memory_order_release);
}

void EventLog::make_room(std::uint64_t end) noexcept {
  std::uint64_t tail = shared_->tail.load(std::memory_order_relaxed);
  while (end - tail > shared_->capacity) {
    const RecordHeader oldest = header_at(tail);
    M0_CHECK(oldest.sound());
    // Ascending by nature, as they are evicted in order. What servers tell each other is nobody's event, also where it
    // names a channel.
    if (oldest.kind == RecordHeader::Kind::Event) {
      shared_->marks[oldest.channel_hash % kMarks].store(oldest.seq, std::memory_order_release);
      reached(AppendStep::Marked);
      g_dropped.add();
    } else if (oldest.kind == RecordHeader::Kind::Control) {
      shared_->dropped_order.store(oldest.seq, std::memory_order_release);
    }
    tail += std::uint64_t{oldest.words} * 8;
    shared_->tail.store(tail, std::memory_order_release);
    reached(AppendStep::Evicted);
  }
}

// ---- an earlier life

void EventLog::go_on(std::uint64_t epoch, std::uint64_t last_seq) noexcept {
  shared_->epoch = epoch;
  shared_->last_seq.store(last_seq, std::memory_order_release);
  for (std::atomic<std::uint64_t>& mark : shared_->marks) mark.store(last_seq, std::memory_order_release);
}

bool EventLog::restore(const NewEvent& event, std::int64_t time_ms) {
  return write(event, time_ms, base::Duration::zero()).has_value();
}

EventLog::Saved& EventLog::saved() noexcept { return shared_->saved; }

// ---- reading

std::atomic<std::uint64_t>& EventLog::word(std::uint64_t position) const noexcept {
  return ring_[position % shared_->capacity / 8];
}

RecordHeader EventLog::header_at(std::uint64_t position) const noexcept {
  RecordHeader header;
  header.read_first_word(word(position).load(std::memory_order_acquire));
  if (header.kind == RecordHeader::Kind::Pad) return header;
  header.seq = word(position + 8).load(std::memory_order_acquire);
  header.channel_hash = word(position + 16).load(std::memory_order_acquire);
  header.data_length = static_cast<std::uint32_t>(word(position + 24).load(std::memory_order_acquire));
  header.time_ms = static_cast<std::int64_t>(word(position + 32).load(std::memory_order_acquire));
  return header;
}

EventLog::Read EventLog::copy(std::uint64_t position, Record& into, bool whole) const {
  const auto overwritten = [&] { return position < tail(); };
  for (;;) {
    const std::uint64_t head = shared_->head.load(std::memory_order_acquire);
    if (position >= head) return Read::AtEnd;
    const RecordHeader header = header_at(position);
    // Only a header that was not overwritten while it was read says how much there is to copy.
    if (overwritten()) return Read::Overwritten;
    M0_CHECK(header.sound() && std::uint64_t{header.words} * 8 <= head - position);
    if (header.kind == RecordHeader::Kind::Pad) {
      position += std::uint64_t{header.words} * 8;
      continue;
    }
    into.header_ = header;
    into.position_ = position;
    const bool all = whole || header.kind != RecordHeader::Kind::Event;
    into.words_.resize(all ? header.words - RecordHeader::kWords : (std::size_t{header.channel_length} + 7) / 8);
    for (std::size_t i = 0; i < into.words_.size(); ++i) {
      into.words_[i] = word(position + (RecordHeader::kWords + i) * 8).load(std::memory_order_acquire);
    }
    return overwritten() ? Read::Overwritten : Read::Ok;
  }
}

std::uint64_t EventLog::head() const noexcept { return shared_->head.load(std::memory_order_seq_cst); }
std::uint64_t EventLog::tail() const noexcept { return shared_->tail.load(std::memory_order_acquire); }
std::uint64_t EventLog::last_seq() const noexcept { return shared_->last_seq.load(std::memory_order_acquire); }
std::uint64_t EventLog::dropped_mark(std::uint64_t channel_hash) const noexcept {
  return shared_->marks[channel_hash % kMarks].load(std::memory_order_acquire);
}
std::uint64_t EventLog::epoch() const noexcept { return shared_->epoch; }
std::size_t EventLog::capacity() const noexcept { return shared_->capacity; }
std::size_t EventLog::largest_event() const noexcept { return shared_->largest_event; }
std::uint64_t EventLog::repairs() const noexcept { return shared_->repairs.load(std::memory_order_relaxed); }

// ---- sleeping

std::uint64_t EventLog::dropped_order() const noexcept {
  return shared_->dropped_order.load(std::memory_order_acquire);
}

unsigned EventLog::readers() const noexcept { return static_cast<unsigned>(bells_->size()); }

std::uint32_t EventLog::life(unsigned reader) const noexcept {
  return shared_->lives[reader].load(std::memory_order_acquire);
}

void EventLog::begin_reading(unsigned reader) noexcept {
  // One that was killed may not have been seen yet.
  const std::uint32_t life = shared_->lives[reader].load(std::memory_order_relaxed);
  shared_->lives[reader].store(life + (reads(life) ? 2 : 1), std::memory_order_release);
}

void EventLog::end_reading(unsigned reader) noexcept {
  const std::uint32_t life = shared_->lives[reader].load(std::memory_order_relaxed);
  if (reads(life)) shared_->lives[reader].store(life + 1, std::memory_order_release);
}

int EventLog::bell_fd(unsigned reader) const noexcept { return bells_->fd(reader); }

void EventLog::announce_sleep(unsigned reader) noexcept { shared_->asleep[reader].store(1, std::memory_order_seq_cst); }

void EventLog::awake(unsigned reader) noexcept { shared_->asleep[reader].store(0, std::memory_order_relaxed); }

void EventLog::drain_bell(unsigned reader) noexcept {
  std::uint64_t count = 0;
  while (::read(bells_->fd(reader), &count, sizeof count) < 0 && errno == EINTR) {
  }
}

void EventLog::ring() noexcept {
  for (unsigned reader = 0; reader < bells_->size(); ++reader) {
    std::atomic<std::uint32_t>& asleep = shared_->asleep[reader];
    // A look is cheaper than an exchange, and most readers are awake under load. One bell an announcement.
    if (asleep.load(std::memory_order_seq_cst) == 0 || asleep.exchange(0, std::memory_order_seq_cst) == 0) continue;
    const std::uint64_t one = 1;
    // EAGAIN: it rings already.
    while (::write(bells_->fd(reader), &one, sizeof one) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace m0::pubsub
