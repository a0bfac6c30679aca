#include "pool_cell.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace m0::bench {
namespace {

using base::Duration;
using base::Instant;

// A server that only fails is not measured in a hot loop.
constexpr std::uint64_t kMaxErrors = 200;
// Nothing here waits for longer than the blockers' questions one after another; beyond this many blocking durations the
// server is stuck, not slow.
constexpr int kStuck = 20;
// Of a cell whose limit has passed without `at_least` answers.
constexpr int kLimits = 10;
// Open loop: every arrival finds a connection unless the server holds this many. Then it waits, and counts from when it
// was meant.
constexpr std::size_t kMostConnections = 1000;

}  // namespace

double CellResult::slow_per_second() const {
  const double seconds = std::chrono::duration<double>(window).count();
  return seconds > 0 ? static_cast<double>(slow_answered) / seconds : 0;
}

PoolCell::PoolCell(const CellPlan& plan) : plan_(plan), loop_(plan.port, plan.keep) {
  for (unsigned i = 0; i < plan_.blockers; ++i) loop_.add(plan_.slow);
  from_.resize(plan_.blockers);
}

std::expected<CellResult, std::string> PoolCell::run() {
  if (!occupy()) {
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(kStuck * plan_.block);
    return std::unexpected(fmt::format("{} answered nobody within {} ms", plan_.slow, waited.count()));
  }
  result_.slow_answered = 0;
  const Instant began = base::now();
  start_asking();
  ask_until_the_end();
  // The blockers go on until the last fast answer is in: none of them is measured beside fewer than it was asked
  // beside.
  for (const Instant stuck = base::now() + kStuck * plan_.block; in_flight_ > 0 && base::now() < stuck && !failing();)
    turn(stuck);
  result_.window = base::now() - began;
  const std::uint64_t slow_answered = result_.slow_answered;
  blocking_ = false;
  if (failing()) return std::unexpected(fmt::format("the server failed {} questions", kMaxErrors));
  // The next cell finds a server at rest.
  for (const Instant stuck = base::now() + kStuck * plan_.block; blockers_wait() && base::now() < stuck;) turn(stuck);
  count_unanswered();  // last: an answer that still came counts once, as an answer
  result_.slow_answered = slow_answered;
  return std::move(result_);
}

/// Returns when the blockers are in their handlers, as far as a client can know: the first has come back, so all had
/// been sent by then, and a while later, before the second comes back, the first's next question is no longer on its
/// way.
///
/// They begin one after another within a duration. Sent together they would be answered together for ever, and a pool
/// that is full would free all its threads at one instant and none at any other, which no clients on their own do.
bool PoolCell::occupy() {
  if (plan_.blockers == 0) return true;
  const Instant began = base::now();
  const Instant stuck = began + kStuck * plan_.block;
  for (std::size_t i = 0; i < plan_.blockers; ++i) {
    const Instant due = began + static_cast<int>(i) * plan_.block / plan_.blockers;
    while (base::now() < due) turn(due);
    ask_slow(i);
  }
  while (result_.slow_answered == 0) {
    if (base::now() >= stuck || failing()) return false;
    turn(stuck);
  }
  for (const Instant settled = base::now() + plan_.block / (2 * plan_.blockers); base::now() < settled;) turn(settled);
  return true;
}

void PoolCell::start_asking() {
  asking_ = true;
  const Instant now = base::now();
  if (open()) {
    pace_.emplace(now, plan_.interval);
    return;
  }
  for (unsigned i = 0; i < plan_.clients; ++i) {
    from_.emplace_back();
    // Spread over the time they think: together they would be bursts.
    due_.emplace(now + i * plan_.think / plan_.clients, loop_.add(plan_.fast));
  }
}

void PoolCell::ask_until_the_end() {
  const Instant began = base::now();
  const Instant limit = began + plan_.limit;
  const Instant stuck = began + kLimits * plan_.limit;
  while (!all_asked() && !failing()) {
    const Instant now = base::now();
    if (now >= stuck || (now >= limit && result_.fast.count() >= plan_.at_least)) break;
    ask_what_is_due();
    if (all_asked()) break;
    turn(std::min(next_question(), now < limit ? limit : stuck));
  }
  asking_ = false;
}

/// Leaving them out would flatter a server that stands still.
void PoolCell::count_unanswered() {
  const Instant now = base::now();
  for (std::size_t i = plan_.blockers; i < loop_.size(); ++i)
    if (loop_.busy(i)) waiting_.push_back(from_[i]);
  for (const Instant from : waiting_) result_.fast.add(now - from);
  result_.unanswered = waiting_.size();
}

void PoolCell::turn(Instant until) {
  loop_.turn(until, [this](std::size_t index, bool answered) { take_end(index, answered); });
}

Instant PoolCell::next_question() const {
  if (open()) return pace_->next();
  return due_.empty() ? Instant::max() : due_.begin()->first;
}

void PoolCell::ask_what_is_due() {
  const Instant now = base::now();
  while (!open() && !all_asked() && !due_.empty() && due_.begin()->first <= now) {
    const std::size_t index = due_.begin()->second;
    due_.erase(due_.begin());
    ask_fast(index, base::now());
  }
  if (!open()) return;
  for (; pace_->next() <= now; pace_->advance()) waiting_.push_back(pace_->next());
  while (!waiting_.empty() && !all_asked()) {
    if (idle_.empty()) {
      if (loop_.size() - plan_.blockers >= kMostConnections) return;
      from_.emplace_back();
      idle_.push_back(loop_.add(plan_.fast));
    }
    const std::size_t index = idle_.back();  // the one that was used last: the others may be closed for being idle
    idle_.pop_back();
    const Instant meant = waiting_.front();
    waiting_.pop_front();
    ask_fast(index, meant);
  }
}

void PoolCell::ask_fast(std::size_t index, Instant from) {
  from_[index] = from;
  ++asked_;
  if (loop_.ask(index)) {
    ++in_flight_;
    return;
  }
  ++result_.fast_errors;
  fast_is_free(index);
}

void PoolCell::fast_is_free(std::size_t index) {
  if (open()) {
    idle_.push_back(index);
  } else {
    due_.emplace(base::now() + plan_.think, index);
  }
}

void PoolCell::ask_slow(std::size_t index) {
  while (!failing() && !loop_.ask(index)) ++result_.slow_errors;
}

void PoolCell::take_end(std::size_t index, bool answered) {
  if (is_blocker(index)) {
    ++(answered ? result_.slow_answered : result_.slow_errors);
    if (blocking_) ask_slow(index);
    return;
  }
  --in_flight_;
  if (answered) {
    result_.fast.add(base::now() - from_[index]);
  } else {
    ++result_.fast_errors;
  }
  fast_is_free(index);
  if (asking_) ask_what_is_due();
}

bool PoolCell::blockers_wait() const {
  for (std::size_t i = 0; i < plan_.blockers; ++i)
    if (loop_.busy(i)) return true;
  return false;
}

bool PoolCell::failing() const { return result_.fast_errors + result_.slow_errors >= kMaxErrors; }

}  // namespace m0::bench
