#include "m0/python/field_names.hpp"

#include <cstring>

namespace m0::python {
namespace {

constexpr std::size_t kSlots = 256;

// In a token this makes letters lower case and changes no '-'; no other token character becomes a letter or a '-'.
constexpr unsigned folded(char c) noexcept { return static_cast<unsigned char>(c) | 0x20U; }

// Length and four letters tell all known names apart ("x-forwarded-host", "x-forwarded-port": the last but one).
constexpr std::size_t slot_of(std::string_view name, unsigned seed) noexcept {
  const std::size_t size = name.size();
  const unsigned mixed = (static_cast<unsigned>(size) * 0x01000193U) ^ (folded(name[0]) << 24) ^
                         (folded(name[size - 1]) << 16) ^ (folded(name[size / 2]) << 8) ^
                         folded(name[size > 1 ? size - 2 : 0]);
  return ((mixed * seed) >> 16) % kSlots;
}

struct Table {
  unsigned seed = 0;
  std::array<std::int8_t, kSlots> at{};
};

// The first seed that gives every known name a slot of its own, so that a lookup is one comparison.
consteval Table make_table() {
  for (unsigned seed = 0x9e3779b1U; seed != 0x9e3779b1U + 4000; seed += 2) {
    Table table{seed, {}};
    table.at.fill(static_cast<std::int8_t>(kUnknownField));
    bool clash = false;
    for (std::size_t i = 0; i < kKnownFields.size() && !clash; ++i) {
      std::int8_t& place = table.at[slot_of(kKnownFields[i].name, seed)];
      clash = place != kUnknownField;
      place = static_cast<std::int8_t>(i);
    }
    if (!clash) return table;
  }
  return Table{};
}

constexpr Table kTable = make_table();
static_assert(kTable.seed != 0);

template <class Word>
Word load(const char* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

/// Words that may overlap instead of a byte at a time: 4 ns a field less where a browser sends fifteen.
template <class Word>
bool same_folded(const char* name, const char* known, std::size_t size) noexcept {
  constexpr Word kFold = static_cast<Word>(0x2020202020202020ULL);
  const std::size_t last = size - sizeof(Word);
  Word difference = (load<Word>(name + last) | kFold) ^ load<Word>(known + last);
  for (std::size_t at = 0; at < last; at += sizeof(Word)) {
    difference |= (load<Word>(name + at) | kFold) ^ load<Word>(known + at);
  }
  return difference == 0;
}

bool same_name(std::string_view name, std::string_view known) noexcept {
  const std::size_t size = name.size();
  if (size >= sizeof(std::uint64_t)) return same_folded<std::uint64_t>(name.data(), known.data(), size);
  if (size >= sizeof(std::uint32_t)) return same_folded<std::uint32_t>(name.data(), known.data(), size);
  unsigned difference = 0;
  for (std::size_t i = 0; i < size; ++i) difference |= folded(name[i]) ^ static_cast<unsigned char>(known[i]);
  return difference == 0;
}

}  // namespace

int known_field(std::string_view name) noexcept {
  if (name.empty()) return kUnknownField;
  const int index = kTable.at[slot_of(name, kTable.seed)];
  if (index == kUnknownField) return kUnknownField;
  const std::string_view known = kKnownFields[static_cast<std::size_t>(index)].name;
  return known.size() == name.size() && same_name(name, known) ? index : kUnknownField;
}

}  // namespace m0::python
