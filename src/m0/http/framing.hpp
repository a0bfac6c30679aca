#pragma once
// The fields that decide how a request is framed and routed (RFC 9112 sections 3.2, 6 and 9; RFC 9110 10.1.1).

#include <cstdint>
#include <expected>

#include "m0/http/refusal.hpp"
#include "m0/http/request_head.hpp"

namespace m0::http {

/// Collects what a head's fields say together, field by field in order. One thread at a time.
class Framing {
 public:
  /// What `field` means for the head; the head's request line is known already.
  [[nodiscard]] std::expected<void, Refusal> add(const Field& field, RequestHead& head) noexcept;
  /// After the last field: what they say together.
  [[nodiscard]] std::expected<void, Refusal> finish(RequestHead& head) const;

 private:
  [[nodiscard]] std::expected<void, Refusal> add_host(std::string_view value, RequestHead& head) noexcept;
  [[nodiscard]] std::expected<void, Refusal> add_length(std::string_view value, RequestHead& head) noexcept;
  [[nodiscard]] std::expected<void, Refusal> add_codings(std::string_view value) noexcept;
  void add_connection(std::string_view value) noexcept;

  bool has_host_ = false;
  bool has_length_ = false;
  bool has_codings_ = false;
  bool chunked_ = false;       // seen
  bool chunked_last_ = false;  // and nothing after it
  bool chunked_twice_ = false;
  bool other_coding_ = false;
  bool close_ = false;
  bool keep_alive_ = false;
};

/// Fields that say how a message is framed or routed may not come after its body (RFC 9110 6.5.1).
[[nodiscard]] bool forbidden_in_trailers(std::string_view name) noexcept;

}  // namespace m0::http
