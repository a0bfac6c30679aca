#include "m0/python/returned_bytes.hpp"

#include <memory>

#include "m0/python/text.hpp"

namespace m0::python {

PythonBytes::PythonBytes(PyRef bytes, ReturnedBytes& home) noexcept
    : object_(std::move(bytes)), view_(bytes_view(object_.get())), home_(home) {}

void PythonBytes::give_back() noexcept { home_.put(*this); }

void ReturnedBytes::put(PythonBytes& bytes) noexcept {
  PythonBytes* newest = newest_.load(std::memory_order_relaxed);
  do {
    bytes.next_ = newest;
    // Whoever takes the list sees the link, and whoever rests either sees these bytes or is seen to rest.
  } while (!newest_.compare_exchange_weak(newest, &bytes, std::memory_order_seq_cst, std::memory_order_relaxed));
  // A look is cheaper than an exchange, and under load somebody always looks after it.
  if (wake_ && !looked_after_.load(std::memory_order_seq_cst) && !looked_after_.exchange(true)) wake_();
}

bool ReturnedBytes::rest() noexcept {
  looked_after_.store(false, std::memory_order_seq_cst);
  return newest_.load(std::memory_order_seq_cst) == nullptr || looked_after_.exchange(true);
}

void ReturnedBytes::release_all() noexcept {
  if (empty()) return;
  PythonBytes* at = newest_.exchange(nullptr, std::memory_order_acquire);
  while (at != nullptr) {
    const std::unique_ptr<PythonBytes> released(at);
    at = released->next_;
  }
}

}  // namespace m0::python
