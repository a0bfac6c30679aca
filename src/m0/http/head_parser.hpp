#pragma once
// The lines of a request's head, or of the trailer section behind a chunked body (RFC 9112 sections 2 to 5).

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

#include "m0/http/framing.hpp"
#include "m0/http/limits.hpp"
#include "m0/http/refusal.hpp"
#include "m0/http/request_head.hpp"

namespace m0::http {

/// Validates in one pass over contiguous bytes, and goes on where it stopped: after a line, however the bytes were
/// split, so that a client that sends single bytes costs linear work. What it says depends on the bytes alone: an error
/// is said once its line is complete or over a limit, the first byte excepted. One thread at a time.
class HeadParser {
 public:
  enum class Section : std::uint8_t { Request, Trailers };

  explicit HeadParser(Section section) noexcept
      : in_request_line_(section == Section::Request), trailers_(section == Section::Trailers) {}

  /// `bytes` is the section from its first byte, with at least what it had in the call before (its address may have
  /// changed, `head` must be the same object or a copy). The size of the section once it is complete, 0 until then.
  [[nodiscard]] std::expected<std::size_t, Refusal> parse(const Limits& limits, std::string_view bytes,
                                                          RequestHead& head);

 private:
  struct Line;

  [[nodiscard]] Line request_line(const char* at, const char* end, RequestHead& head) noexcept;
  [[nodiscard]] Line field_line(const char* at, const char* end, RequestHead& head);

  std::uintptr_t base_ = 0;   // where `bytes` was in the call before
  std::size_t line_ = 0;      // offset of the first line that was not parsed yet
  std::size_t searched_ = 0;  // no LF between line_ and here
  Framing framing_;
  bool in_request_line_;
  bool trailers_;
};

}  // namespace m0::http
