#include "m0/http/rebase.hpp"

#include <cstdint>

namespace m0::http {

void rebase(RequestHead& head, const char* from, std::size_t size, const char* to) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  const auto move = [&](std::string_view& view) noexcept {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(view.data()) - begin;
    // A literal may lie right behind: only an empty view belongs to the end.
    if (view.data() != nullptr && (offset < size || (offset == size && view.empty())))
      view = {to + offset, view.size()};
  };
  move(head.raw);
  move(head.method);
  move(head.target);
  move(head.path);
  move(head.query);
  move(head.authority);
  for (Field& field : head.fields) {
    move(field.name);
    move(field.value);
  }
}

}  // namespace m0::http
