#include "m0/http/head_parser.hpp"

#include <algorithm>
#include <cstring>

#include "m0/base/bytes.hpp"
#include "m0/http/rebase.hpp"
#include "m0/http/request_target.hpp"
#include "m0/http/scan.hpp"

namespace m0::http {

/// One line's outcome: `next` behind its LF; or a refusal; or neither, when the bytes ended first.
struct HeadParser::Line {
  const char* next = nullptr;
  Refusal refusal{0, nullptr};
  bool last = false;  // the empty line
};

namespace {

constexpr std::size_t kVersionSize = 8;  // HTTP/x.y

constexpr std::string_view kVersionEnd = "HTTP/#.#\r\n";  // "#" is a digit

/// How many bytes from `at` fit kVersionEnd.
std::size_t match_version_end(const char* at, const char* end) noexcept {
  std::size_t i = 0;
  for (; i < kVersionEnd.size() && at + i != end; ++i) {
    const bool digit = at[i] >= '0' && at[i] <= '9';
    if (kVersionEnd[i] == '#' ? !digit : at[i] != kVersionEnd[i]) break;
  }
  return i;
}

}  // namespace

// method SP request-target SP HTTP-version CRLF (RFC 9112 3). Exactly one SP each: section 3 allows to be lenient about
// whitespace and names what that costs.
HeadParser::Line HeadParser::request_line(const char* at, const char* end, RequestHead& head) noexcept {
  const char* stop = scan_token(at, end);
  if (stop == end) return {};
  if (stop == at || *stop != ' ') return {.refusal = {400, "malformed method"}};
  head.method = {at, stop};

  at = stop + 1;
  stop = scan_target(at, end);
  if (stop == end) return {};
  if (stop == at || *stop != ' ') return {.refusal = {400, "malformed request target"}};
  head.target = {at, stop};

  at = stop + 1;
  const std::size_t fits = match_version_end(at, end);
  if (fits != kVersionEnd.size()) {
    if (at + fits == end) return {};
    return {.refusal = {400, fits < kVersionSize ? "malformed HTTP version" : "malformed end of the request line"}};
  }
  if (at[5] != '1') return {.refusal = {505, "HTTP version not supported"}};
  // RFC 9110 2.5: a higher minor version is served as the highest we know of its major.
  head.version = at[7] == '0' ? Version::Http10 : Version::Http11;

  if (const auto split = split_target(head); !split) return {.refusal = split.error()};
  return {.next = at + kVersionEnd.size()};
}

// field-name ":" OWS field-value OWS CRLF (RFC 9112 5).
HeadParser::Line HeadParser::field_line(const char* at, const char* end, RequestHead& head) {
  const char* stop = scan_token(at, end);
  if (stop == end) return {};
  if (stop == at) {
    if (*at == '\r') {
      if (end - at < 2) return {};
      if (at[1] == '\n') return {.next = at + 2, .last = true};
      return {.refusal = {400, "bare CR"}};
    }
    if (*at == '\n') return {.refusal = {400, "bare LF"}};
    if (*at == ' ' || *at == '\t') return {.refusal = {400, "line folding"}};
    return {.refusal = {400, "malformed field name"}};
  }
  if (*stop != ':') return {.refusal = {400, "malformed field name"}};
  const std::string_view name(at, stop);

  at = stop + 1;
  while (at != end && (*at == ' ' || *at == '\t')) ++at;
  stop = scan_value(at, end);
  if (stop == end) return {};
  if (*stop == '\n') return {.refusal = {400, "bare LF"}};
  if (*stop != '\r') return {.refusal = {400, "control character in a field value"}};
  if (stop + 1 == end) return {};
  if (stop[1] != '\n') return {.refusal = {400, "bare CR"}};
  const Field field{name, base::trim_ows({at, stop})};

  if (trailers_) {
    if (forbidden_in_trailers(name)) return {.refusal = {400, "forbidden trailer field"}};
  } else if (const auto added = framing_.add(field, head); !added) {
    return {.refusal = added.error()};
  }
  head.fields.push_back(field);
  return {.next = stop + 2};
}

std::expected<std::size_t, Refusal> HeadParser::parse(const Limits& limits, std::string_view bytes, RequestHead& head) {
  const char* const begin = bytes.data();
  const char* const end = begin + bytes.size();
  if (line_ == 0 && searched_ == 0) {
    if (bytes.empty()) return 0;
    // Somebody who speaks TLS, or anything else, to a plain port is not waited for.
    if (in_request_line_ && !is_token_char(*begin)) return std::unexpected(Refusal{400, "malformed method"});
    head.fields.clear();
    head.method = head.target = head.path = head.query = head.authority = {};
    head.content_length = 0;
    head.body = BodyKind::None;
    head.keep_alive = true;
    head.expect_continue = false;
  } else if (base_ != reinterpret_cast<std::uintptr_t>(begin)) {
    rebase(head, reinterpret_cast<const char*>(base_), line_, begin);
  }
  base_ = reinterpret_cast<std::uintptr_t>(begin);

  for (;;) {
    // A line over its limit, or a head over its own, is refused as soon as so many bytes came without the LF, and a
    // line that breaks a rule when its LF came: whichever is first in the bytes, not in the order of our work.
    const std::size_t line_limit = line_ + limits.max_line + 2;
    const std::size_t limit = std::min(line_limit, limits.max_head);
    const std::size_t reach = std::min(bytes.size(), limit);
    const auto wait_or_refuse = [&]() -> std::expected<std::size_t, Refusal> {
      searched_ = reach;
      if (bytes.size() < limit) return 0;
      if (limit < line_limit) return std::unexpected(Refusal{431, "head too large"});
      if (in_request_line_) return std::unexpected(Refusal{414, "request line too long"});
      return std::unexpected(Refusal{431, "field line too long"});
    };
    const auto has_end = [&](std::size_t from) noexcept {
      return from < reach && std::memchr(begin + from, '\n', reach - from) != nullptr;
    };

    if (searched_ > line_ && !has_end(searched_)) return wait_or_refuse();
    const Line line = in_request_line_ ? request_line(begin + line_, end, head) : field_line(begin + line_, end, head);
    if (line.next == nullptr) {
      if (line.refusal.status != 0 && has_end(line_)) return std::unexpected(line.refusal);
      return wait_or_refuse();
    }
    const auto next = static_cast<std::size_t>(line.next - begin);
    if (next > limit) return wait_or_refuse();
    line_ = searched_ = next;
    in_request_line_ = false;
    if (line.last) break;
    if (head.fields.size() > limits.max_fields) return std::unexpected(Refusal{431, "too many fields"});
  }

  head.raw = bytes.substr(0, line_);
  if (!trailers_) {
    if (const auto finished = framing_.finish(head); !finished) return std::unexpected(finished.error());
  }
  return line_;
}

}  // namespace m0::http
