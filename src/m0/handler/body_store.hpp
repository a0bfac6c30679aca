#pragma once
// A request's body, gathered by the loop before any thread is taken: in memory up to 64 KiB, then in an unlinked
// temporary file.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "m0/base/fd.hpp"

namespace m0::handler {

/// What all bodies of a worker may take together. The loop's thread only.
struct BodyBudget {
  std::uint64_t memory_limit = 256ULL << 20;
  std::uint64_t disk_limit = 8ULL << 30;
  std::uint64_t memory_used = 0;
  std::uint64_t disk_used = 0;
};

enum class BodyAppend : std::uint8_t { Ok, OverBudget, DiskFailed };

/// append() and clear(): the loop's thread. Reading: the thread that has the Exchange.
class BodyStore {
 public:
  static constexpr std::size_t kInMemory = 64 * 1024;
  static constexpr std::size_t kKept = 4096;  // of room, for the next request

  explicit BodyStore(BodyBudget& budget) noexcept : budget_(&budget) {}
  ~BodyStore() { clear(); }
  BodyStore(const BodyStore&) = delete;
  BodyStore& operator=(const BodyStore&) = delete;

  /// Adds bytes at the end. A write error (a full disk) loses the body: the request is to be refused.
  [[nodiscard]] BodyAppend append(std::string_view bytes);
  void clear() noexcept;

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// The whole body when it is in memory.
  [[nodiscard]] bool in_memory() const noexcept { return !file_; }
  [[nodiscard]] std::string_view memory() const noexcept { return memory_; }
  /// The room that is held for bytes in memory.
  [[nodiscard]] std::size_t room() const noexcept { return memory_.capacity(); }
  /// Reads up to into.size() bytes from `offset`, from memory or file; 0 at the end, -1 with errno on failure.
  [[nodiscard]] std::ptrdiff_t read_at(std::uint64_t offset, std::span<char> into) const noexcept;

 private:
  bool open_file() noexcept;

  BodyBudget* budget_;
  std::string memory_;
  base::Fd file_;
  std::uint64_t size_ = 0;
  bool counted_as_memory_ = true;  // a file that lives in memory (no writable directory) counts there
};

}  // namespace m0::handler
