#include "m0/http/headers.hpp"

#include "m0/base/bytes.hpp"
#include "m0/http/scan.hpp"

namespace m0::http {

bool is_token(std::string_view text) noexcept {
  const char* end = text.data() + text.size();
  return !text.empty() && scan_token(text.data(), end) == end;
}

bool is_field_value(std::string_view text) noexcept {
  const char* end = text.data() + text.size();
  return scan_value(text.data(), end) == end;
}

void FieldList::add(std::string_view name, std::string_view value) {
  const auto at = static_cast<std::uint32_t>(bytes_.size());
  const auto name_size = static_cast<std::uint32_t>(name.size());
  bytes_.append(name);
  bytes_.append(value);
  entries_.push_back({at, name_size, at + name_size, static_cast<std::uint32_t>(value.size())});
}

void FieldList::clear() noexcept {
  bytes_.clear();
  entries_.clear();
}

std::size_t FieldList::remove(std::string_view name) noexcept {
  return std::erase_if(entries_, [&](const Entry& entry) {
    return base::iequals(std::string_view(bytes_).substr(entry.name_at, entry.name_size), name);
  });
}

std::string_view FieldList::find(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Field field = (*this)[i];
    if (base::iequals(field.name, name)) return field.value;
  }
  return {};
}

}  // namespace m0::http
