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
    // Release: whoever takes the list sees the link.
  } while (!newest_.compare_exchange_weak(newest, &bytes, std::memory_order_release, std::memory_order_relaxed));
  if (newest == nullptr && wake_) wake_();
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
