#include "m0/http/framing.hpp"

#include <limits>

#include "m0/base/bytes.hpp"
#include "m0/http/authority.hpp"
#include "m0/http/list.hpp"

namespace m0::http {
namespace {

using base::iequals;
using Outcome = std::expected<void, Refusal>;

Outcome refuse(int status, const char* why) noexcept { return std::unexpected(Refusal{status, why}); }

}  // namespace

// The length of a name tells nearly all fields apart before a byte of it is compared.
Outcome Framing::add(const Field& field, RequestHead& head) noexcept {
  switch (field.name.size()) {
    case 4:
      if (iequals(field.name, "host")) return add_host(field.value, head);
      break;
    case 6:
      if (iequals(field.name, "expect") && iequals(field.value, "100-continue")) {
        head.expect_continue = head.version == Version::Http11;
      }
      break;
    case 10:
      if (iequals(field.name, "connection")) add_connection(field.value);
      break;
    case 14:
      if (iequals(field.name, "content-length")) return add_length(field.value, head);
      break;
    case 17:
      if (iequals(field.name, "transfer-encoding")) return add_codings(field.value);
      break;
    default: break;
  }
  return {};
}

Outcome Framing::add_host(std::string_view value, RequestHead& head) noexcept {
  if (has_host_) return refuse(400, "more than one Host");
  has_host_ = true;
  if (value.empty()) return refuse(400, "empty Host");
  if (!is_authority(value)) return refuse(400, "malformed Host");
  if (head.form != TargetForm::Absolute) head.authority = value;
  return {};
}

Outcome Framing::add_length(std::string_view value, RequestHead& head) noexcept {
  // RFC 9110 8.6 lets a recipient accept the same length said twice; whoever sends that is confused or lies.
  if (has_length_) return refuse(400, "more than one Content-Length");
  has_length_ = true;
  if (value.empty()) return refuse(400, "malformed Content-Length");
  std::uint64_t length = 0;
  for (const char c : value) {
    if (c < '0' || c > '9') return refuse(400, "malformed Content-Length");
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (length > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) {
      return refuse(400, "Content-Length overflows");
    }
    length = length * 10 + digit;
  }
  head.content_length = length;
  return {};
}

// A list over all Transfer-Encoding fields (RFC 9112 6.1). Empty elements are refused, although RFC 9110 5.6.1.2 would
// ignore them: they only ever serve to be read differently by somebody else.
Outcome Framing::add_codings(std::string_view value) noexcept {
  has_codings_ = true;
  bool malformed = false;
  each_element(value, [&](std::string_view element) noexcept {
    if (iequals(element, "chunked")) {
      chunked_twice_ = chunked_twice_ || chunked_;
      chunked_ = chunked_last_ = true;
      return;
    }
    malformed = malformed || !is_token(base::trim_ows(element.substr(0, element.find(';'))));
    other_coding_ = true;
    chunked_last_ = false;
  });
  if (malformed) return refuse(400, "malformed Transfer-Encoding");
  return {};
}

void Framing::add_connection(std::string_view value) noexcept {
  each_element(value, [&](std::string_view option) noexcept {
    close_ = close_ || iequals(option, "close");
    keep_alive_ = keep_alive_ || iequals(option, "keep-alive");
  });
}

Outcome Framing::finish(RequestHead& head) const {
  const bool http10 = head.version == Version::Http10;
  if (!has_host_ && !http10) return refuse(400, "no Host");
  if (has_codings_) {
    // RFC 9112 6.1: a client of 1.0 cannot mean it; 6.3: beside a length it is an attempt at smuggling.
    if (http10) return refuse(400, "Transfer-Encoding on HTTP/1.0");
    if (has_length_) return refuse(400, "Transfer-Encoding with Content-Length");
    if (!chunked_last_) return refuse(400, "chunked is not the last transfer coding");
    if (chunked_twice_) return refuse(400, "chunked more than once");
    if (other_coding_) return refuse(501, "unknown transfer coding");
    head.body = BodyKind::Chunked;
  } else if (has_length_) {
    head.body = BodyKind::Length;
  }
  head.keep_alive = !close_ && (!http10 || keep_alive_);
  // RFC 9112 3.2.2: the authority of an absolute-form target replaces whatever Host says.
  if (head.form == TargetForm::Absolute) {
    for (Field& field : head.fields) {
      if (iequals(field.name, "host")) field.value = head.authority;
    }
    if (!has_host_) head.fields.push_back({"Host", head.authority});
  }
  return {};
}

bool forbidden_in_trailers(std::string_view name) noexcept {
  return iequals(name, "content-length") || iequals(name, "transfer-encoding") || iequals(name, "host");
}

}  // namespace m0::http
