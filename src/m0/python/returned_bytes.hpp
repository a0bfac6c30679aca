#pragma once
// Large bodies that stay Python objects while the loop sends them, and their way back: the loop never drops a
// reference.

#include <atomic>
#include <functional>

#include "m0/handler/response.hpp"
#include "m0/python/py_ref.hpp"

namespace m0::python {

class ReturnedBytes;

/// A bytes object as the body of an answer. Made attached; bytes() and give_back(): the loop.
class PythonBytes final : public handler::ForeignBytes {
 public:
  /// `bytes` is a bytes object, which never changes.
  PythonBytes(PyRef bytes, ReturnedBytes& home) noexcept;
  [[nodiscard]] std::string_view bytes() const noexcept override { return view_; }
  void give_back() noexcept override;

 private:
  friend class ReturnedBytes;
  PyRef object_;
  std::string_view view_;
  ReturnedBytes& home_;
  PythonBytes* next_ = nullptr;
};

/// Bodies that were sent and wait for a thread that is attached.
class ReturnedBytes {
 public:
  ReturnedBytes() = default;
  ReturnedBytes(const ReturnedBytes&) = delete;
  ReturnedBytes& operator=(const ReturnedBytes&) = delete;

  /// Called by the first put() after rest(), so that an idle process releases them too: whoever is woken looks after
  /// the list until it rests. It must not block. Before the first request.
  void on_first(std::function<void()> wake) { wake_ = std::move(wake); }
  /// Whoever was woken stops looking, unless there is something to release: false, it goes on.
  [[nodiscard]] bool rest() noexcept;

  /// The loop.
  void put(PythonBytes& bytes) noexcept;
  /// Any attached thread; cheap when there is nothing.
  void release_all() noexcept;
  [[nodiscard]] bool empty() const noexcept { return newest_.load(std::memory_order_relaxed) == nullptr; }

 private:
  std::atomic<PythonBytes*> newest_{nullptr};
  std::atomic<bool> looked_after_{false};
  std::function<void()> wake_;
};

}  // namespace m0::python
