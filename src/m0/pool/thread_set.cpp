#include "m0/pool/thread_set.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "m0/base/check.hpp"

namespace m0::pool {

void ParkedStack::push(std::vector<std::unique_ptr<ThreadSlot>>& slots, unsigned index) noexcept {
  std::uint64_t head = head_.load(std::memory_order_seq_cst);
  std::uint64_t next = 0;
  do {
    slots[index]->next_parked.store(static_cast<std::uint32_t>(head & kIndex), std::memory_order_relaxed);
    next = ((head >> 32) + 1) << 32 | (index + 1);
    // seq_cst: a thread announces itself here and then looks at the ring; see Ring::push.
  } while (!head_.compare_exchange_weak(head, next, std::memory_order_seq_cst));
}

int ParkedStack::pop(std::vector<std::unique_ptr<ThreadSlot>>& slots) noexcept {
  std::uint64_t head = head_.load(std::memory_order_seq_cst);
  for (;;) {
    const auto first = static_cast<std::uint32_t>(head & kIndex);
    if (first == 0) return -1;
    const std::uint64_t next = ((head >> 32) + 1) << 32 | slots[first - 1]->next_parked.load(std::memory_order_relaxed);
    if (head_.compare_exchange_weak(head, next, std::memory_order_seq_cst)) return static_cast<int>(first - 1);
  }
}

ThreadSet::ThreadSet(std::string name, unsigned capacity, Main main) : name_(std::move(name)), main_(std::move(main)) {
  slots_.reserve(capacity);
  for (unsigned i = 0; i < capacity; ++i) slots_.push_back(std::make_unique<ThreadSlot>());
}

ThreadSet::~ThreadSet() {
  for_each_live([](unsigned, ThreadSlot& slot) { slot.thread.join(); });
}

bool ThreadSet::spawn() {
  unsigned index = 0;
  while (index < capacity() && slots_[index]->live) ++index;
  if (index == capacity()) return false;
  ThreadSlot& slot = *slots_[index];
  slot.exited.store(false, std::memory_order_relaxed);
  slot.retire.store(false, std::memory_order_relaxed);
  slot.look = Look{};
  try {
    slot.thread = std::thread([this, index, &slot] {
      const std::string label = fmt::format("{}-{}", name_.substr(0, 11), index);
      pthread_setname_np(pthread_self(), label.substr(0, 15).c_str());
      pthread_getcpuclockid(pthread_self(), &slot.cpu_clock);
      main_(index);
      slot.exited.store(true, std::memory_order_release);
    });
  } catch (const std::system_error&) {
    return false;
  }
  slot.live = true;
  ++live_;
  return true;
}

unsigned ThreadSet::reap() {
  unsigned reaped = 0;
  for_each_live([&](unsigned, ThreadSlot& slot) {
    if (!slot.exited.load(std::memory_order_acquire)) return;
    slot.thread.join();
    slot.live = false;
    --live_;
    if (slot.retire.load(std::memory_order_relaxed)) --retiring_;
    ++reaped;
  });
  return reaped;
}

bool ThreadSet::join_until(base::Instant deadline) {
  for (;;) {
    reap();
    if (live_ == 0) return true;
    if (base::now() >= deadline) return false;
    // Once, at the end of a worker; a condition variable would have to be signalled by threads that are on their way
    // out.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool ThreadSet::wake_one() noexcept {
  const int index = parked_.pop(slots_);
  if (index < 0) return false;
  slots_[static_cast<unsigned>(index)]->parker.wake();
  return true;
}

unsigned ThreadSet::retire_idle(unsigned keep, base::Instant since) {
  // Those that were told before and are still on their way out must not be counted twice.
  if (staying() <= keep) return 0;
  unsigned surplus = staying() - keep;
  unsigned retired = 0;
  // While the stack is empty nobody else can wake these threads: whoever tried finds out through the lane's re-check.
  std::vector<unsigned> taken;
  for (int index = parked_.pop(slots_); index >= 0; index = parked_.pop(slots_)) {
    taken.push_back(static_cast<unsigned>(index));
  }
  std::vector<unsigned> stay;
  // Deepest in the stack: idle longest.
  std::reverse(taken.begin(), taken.end());
  for (const unsigned index : taken) {
    ThreadSlot& slot = *slots_[index];
    if (surplus > 0 && base::from_ns(slot.parked_ns.load(std::memory_order_acquire)) <= since) {
      slot.retire.store(true, std::memory_order_release);
      slot.parker.wake();
      --surplus;
      ++retiring_;
      ++retired;
    } else {
      stay.push_back(index);
    }
  }
  for (const unsigned index : stay) parked_.push(slots_, index);
  return retired;
}

}  // namespace m0::pool
