#pragma once
// The head of an answer (RFC 9110 section 15) and how its body is delimited (RFC 9112 section 6).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "m0/http/headers.hpp"

namespace m0::http {

struct ResponseHead {
  int status = 200;    // 200 to 599
  std::string reason;  // empty: the standard phrase
  FieldList fields;

  void clear() noexcept {
    status = 200;
    reason.clear();
    fields.clear();
  }
};

/// The standard phrase of a status, "Unknown" for one that RFC 9110 and the registry do not name.
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

/// 1xx, 204 and 304 never have a body (RFC 9110 6.4.1).
[[nodiscard]] constexpr bool status_forbids_body(int status) noexcept {
  return status < 200 || status == 204 || status == 304;
}

/// Bytes of the body that follows; nullopt where that is not known beforehand.
using BodyLength = std::optional<std::uint64_t>;

}  // namespace m0::http
