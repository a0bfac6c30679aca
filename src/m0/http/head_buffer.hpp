#pragma once
// A head, or a trailer section, that did not come whole: its bytes so far and how far they were parsed.

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "m0/http/head_parser.hpp"

namespace m0::http {

/// Lives only while a section is incomplete. One thread at a time.
class HeadBuffer {
 public:
  /// Goes on where `parser` stopped, which had all of `bytes` and wrote into `head`.
  HeadBuffer(const HeadParser& parser, std::string_view bytes, const RequestHead& head);

  struct Fed {
    std::size_t used = 0;   // of the bytes given
    bool complete = false;  // head() is the whole section
  };
  [[nodiscard]] std::expected<Fed, Refusal> feed(const Limits& limits, std::string_view bytes);
  /// Its views point into this object.
  [[nodiscard]] const RequestHead& head() const noexcept { return head_; }

 private:
  HeadParser parser_;
  std::string bytes_;
  RequestHead head_;
};

}  // namespace m0::http
