#pragma once
// What a request's head says (RFC 9110 section 7, RFC 9112 sections 2 to 6), as views.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "m0/http/headers.hpp"

namespace m0::http {

enum class Version : std::uint8_t { Http10, Http11 };
enum class TargetForm : std::uint8_t { Origin, Absolute, Asterisk };
enum class BodyKind : std::uint8_t { None, Length, Chunked };

struct RequestHead {
  std::string_view raw;  // the whole head; every view below points into it, or at a literal, or is empty
  std::string_view method;
  std::string_view target;           // as sent
  std::string_view path;             // before "?"; "/" for an absolute-form without one; "*" for OPTIONS *
  std::string_view query;            // after "?", without it
  std::string_view authority;        // of an absolute-form target, else the value of Host; may be empty on HTTP/1.0
  std::vector<Field> fields;         // in order, names as sent, values without surrounding whitespace
  std::uint64_t content_length = 0;  // of BodyKind::Length
  Version version = Version::Http11;
  TargetForm form = TargetForm::Origin;
  BodyKind body = BodyKind::None;
  bool keep_alive = true;        // what the client asked for, its version considered (RFC 9112 9.3)
  bool expect_continue = false;  // Expect: 100-continue on HTTP/1.1 (RFC 9110 10.1.1)

  /// First value of that name, whatever its case; null data() when there is none.
  [[nodiscard]] std::string_view find(std::string_view name) const noexcept;
};

/// Copies `from` so that every view points into `storage`, which is overwritten. `to` keeps the room of its vector.
void copy_head(const RequestHead& from, std::string& storage, RequestHead& to);

}  // namespace m0::http
