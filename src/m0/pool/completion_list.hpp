#pragma once
// What pool threads hand back: an intrusive list that cannot be full, so that every accepted job is answered.

#include <atomic>

namespace m0::pool {

struct CompletionNode {
  CompletionNode* next_completed = nullptr;
};

/// push(): any thread. take(): one thread.
template <class T>
class CompletionList {
 public:
  /// Sequentially consistent, because Waker::wake() follows.
  void push(T& item) noexcept {
    CompletionNode* node = &item;
    CompletionNode* head = head_.load(std::memory_order_relaxed);
    do {
      node->next_completed = head;
    } while (!head_.compare_exchange_weak(head, node, std::memory_order_seq_cst, std::memory_order_relaxed));
  }

  [[nodiscard]] bool empty() const noexcept { return head_.load(std::memory_order_seq_cst) == nullptr; }

  /// Takes all and calls visit(item), oldest first. The node may be pushed again from the moment it is visited.
  template <class Visit>
  void take(Visit&& visit) {
    CompletionNode* newest = head_.exchange(nullptr, std::memory_order_acquire);
    CompletionNode* oldest = nullptr;
    while (newest != nullptr) {
      CompletionNode* next = newest->next_completed;
      newest->next_completed = oldest;
      oldest = newest;
      newest = next;
    }
    while (oldest != nullptr) {
      CompletionNode* next = oldest->next_completed;
      visit(*static_cast<T*>(oldest));
      oldest = next;
    }
  }

 private:
  alignas(64) std::atomic<CompletionNode*> head_{nullptr};
};

}  // namespace m0::pool
