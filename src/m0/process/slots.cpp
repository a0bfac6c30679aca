#include "m0/process/slots.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

namespace m0::process {

Slots::Slots(unsigned workers) : workers_(workers) {
  constexpr std::size_t kAlign = 64;
  const std::size_t loads = (sizeof(server::WorkerLoad) * workers + kAlign - 1) / kAlign * kAlign;
  bytes_ = loads + sizeof(Slot) * workers;
  memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  loads_ = static_cast<server::WorkerLoad*>(memory_);
  slots_ = reinterpret_cast<Slot*>(static_cast<char*>(memory_) + loads);
  for (unsigned i = 0; i < workers; ++i) {
    ::new (static_cast<void*>(&loads_[i])) server::WorkerLoad();
    ::new (static_cast<void*>(&slots_[i])) Slot();
  }
}

Slots::~Slots() { ::munmap(memory_, bytes_); }

void Slot::refuse(std::string_view sentence) noexcept {
  const std::size_t length = std::min(sentence.size(), refusal.size() - 1);
  std::copy_n(sentence.begin(), length, refusal.begin());
  refusal[length] = '\0';
}

void Slots::clear(unsigned worker) noexcept {
  loads_[worker].accepting.store(false, std::memory_order_relaxed);
  loads_[worker].connections.store(0, std::memory_order_relaxed);
  slots_[worker].state.store(WorkerState::Empty, std::memory_order_relaxed);
  slots_[worker].end_at_once.store(false, std::memory_order_relaxed);
  slots_[worker].refuse("");
}

}  // namespace m0::process
