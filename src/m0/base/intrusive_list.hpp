#pragma once
// A doubly linked list whose links live in the elements: no allocation, removal in constant time. One thread.

#include <cstddef>

namespace m0::base {

/// Derive once per list an object can be in; Tag tells the lists apart. Leaves its list when destroyed.
template <class Tag = void>
class ListNode {
 public:
  ListNode() noexcept = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { unlink(); }

  [[nodiscard]] bool linked() const noexcept { return next_ != nullptr; }
  void unlink() noexcept {
    if (next_ == nullptr) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

 private:
  template <class, class>
  friend class IntrusiveList;
  ListNode* next_ = nullptr;
  ListNode* previous_ = nullptr;
};

template <class T, class Tag = void>
class IntrusiveList {
 public:
  using Node = ListNode<Tag>;

  IntrusiveList() noexcept { head_.next_ = head_.previous_ = &head_; }
  ~IntrusiveList() {
    while (!empty()) head_.next_->unlink();
    head_.next_ = head_.previous_ = nullptr;
  }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  [[nodiscard]] bool empty() const noexcept { return head_.next_ == &head_; }

  void push_back(T& item) noexcept {
    Node& node = item;
    node.unlink();
    node.previous_ = head_.previous_;
    node.next_ = &head_;
    head_.previous_->next_ = &node;
    head_.previous_ = &node;
  }

  [[nodiscard]] T* front() const noexcept { return empty() ? nullptr : static_cast<T*>(head_.next_); }

  [[nodiscard]] T* pop_front() noexcept {
    T* first = front();
    if (first != nullptr) static_cast<Node&>(*first).unlink();
    return first;
  }

  /// Moves everything to the end of `other`.
  void splice_to(IntrusiveList& other) noexcept {
    while (T* first = pop_front()) other.push_back(*first);
  }

  /// Calls `visit` with each element, oldest first; the visitor may unlink the element it was given.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Node* at = head_.next_; at != &head_;) {
      Node* next = at->next_;
      visit(*static_cast<T*>(at));
      at = next;
    }
  }

 private:
  Node head_;
};

}  // namespace m0::base
