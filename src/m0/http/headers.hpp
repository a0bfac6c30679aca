#pragma once
// Fields (RFC 9110 section 5): how they are named, checked and kept.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace m0::http {

/// One field of a request: views into somebody else's bytes.
struct Field {
  std::string_view name;
  std::string_view value;
};

/// A non-empty run of tchar (RFC 9110 5.6.2).
[[nodiscard]] bool is_token(std::string_view text) noexcept;

/// What may go on the wire as a field value: no CR, LF, NUL or other control character but HTAB (RFC 9110 5.5).
[[nodiscard]] bool is_field_value(std::string_view text) noexcept;

/// The fields of an answer, in order, owning their bytes in one block. Reused: clear() keeps the room.
class FieldList {
 public:
  /// Name and value are copied as they are; check them first (is_token, is_field_value).
  void add(std::string_view name, std::string_view value);
  void clear() noexcept;
  /// Removes every field of that name, whatever its case; returns how many.
  std::size_t remove(std::string_view name) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] Field operator[](std::size_t index) const noexcept {
    const Entry& entry = entries_[index];
    return {{bytes_.data() + entry.name_at, entry.name_size}, {bytes_.data() + entry.value_at, entry.value_size}};
  }
  /// At least the bytes of all names and values: what a writer reserves.
  [[nodiscard]] std::size_t byte_size() const noexcept { return bytes_.size(); }
  /// The first value of that name, whatever its case; null data() when there is none.
  [[nodiscard]] std::string_view find(std::string_view name) const noexcept;

 private:
  struct Entry {
    std::uint32_t name_at;
    std::uint32_t name_size;
    std::uint32_t value_at;
    std::uint32_t value_size;
  };
  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace m0::http
