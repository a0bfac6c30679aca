#pragma once
// Objects in slabs that never move, named by (slot, generation): a handle to a recycled slot finds nothing. One thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "m0/base/check.hpp"

namespace m0::base {

struct SlotHandle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // 0 names nothing
  friend bool operator==(const SlotHandle&, const SlotHandle&) = default;
};

template <class T, std::size_t kSlab = 64>
class SlotMap {
 public:
  SlotMap() = default;
  SlotMap(const SlotMap&) = delete;
  SlotMap& operator=(const SlotMap&) = delete;
  ~SlotMap() {
    for_each([this](SlotHandle handle, T&) { erase(handle); });
  }

  /// Makes a T(args...) and gives its handle.
  template <class... Args>
  SlotHandle emplace(Args&&... args) {
    if (free_.empty()) grow();
    const std::uint32_t slot = free_.back();
    Cell& cell = cell_at(slot);
    ::new (static_cast<void*>(&cell.storage)) T(std::forward<Args>(args)...);
    free_.pop_back();
    cell.live = true;
    ++size_;
    return {slot, cell.generation};
  }

  [[nodiscard]] T* find(SlotHandle handle) noexcept {
    if (handle.slot >= capacity() || handle.generation == 0) return nullptr;
    Cell& cell = cell_at(handle.slot);
    return (cell.live && cell.generation == handle.generation) ? cell.get() : nullptr;
  }

  void erase(SlotHandle handle) noexcept {
    T* object = find(handle);
    M0_CHECK(object != nullptr);
    object->~T();
    Cell& cell = cell_at(handle.slot);
    cell.live = false;
    if (++cell.generation == 0) cell.generation = 1;
    --size_;
    free_.push_back(handle.slot);  // grow() reserved the room
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return slabs_.size() * kSlab; }

  /// Calls visit(handle, object) for each live object; the visitor may erase the one it was given.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::uint32_t slot = 0; slot < capacity(); ++slot) {
      Cell& cell = cell_at(slot);
      if (cell.live) visit(SlotHandle{slot, cell.generation}, *cell.get());
    }
  }

 private:
  struct Cell {
    alignas(T) std::byte storage[sizeof(T)];
    std::uint32_t generation = 1;
    bool live = false;
    T* get() noexcept { return std::launder(reinterpret_cast<T*>(&storage)); }
  };

  Cell& cell_at(std::uint32_t slot) noexcept { return slabs_[slot / kSlab][slot % kSlab]; }

  void grow() {
    const auto first = static_cast<std::uint32_t>(capacity());
    slabs_.push_back(std::make_unique<Cell[]>(kSlab));
    free_.reserve(capacity());
    for (std::uint32_t i = kSlab; i-- > 0;) free_.push_back(first + i);
  }

  std::vector<std::unique_ptr<Cell[]>> slabs_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
};

}  // namespace m0::base
