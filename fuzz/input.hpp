#pragma once
// What the fuzz targets share: how an input is read.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "m0/http/limits.hpp"

namespace m0::fuzz {

/// Takes numbers from the front of an input; zeros once it is empty.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) noexcept : rest_(reinterpret_cast<const char*>(data), size) {}
  std::uint8_t byte() noexcept {
    if (rest_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
};

/// Limits that inputs of some hundred bytes reach, or the default ones.
inline http::Limits limits_from(std::uint8_t choice) noexcept {
  if (choice % 2 == 0) return {};
  return {.max_line = 20U + choice, .max_head = 60U + choice, .max_fields = 3, .max_body = 40};
}

}  // namespace m0::fuzz
