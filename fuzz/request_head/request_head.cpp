// A head parsed whole and parsed byte by byte: the same outcome, and what was accepted keeps the rules.

#include <cstdint>
#include <string>

#include "m0/base/bytes.hpp"
#include "m0/base/check.hpp"
#include "m0/http/authority.hpp"
#include "m0/http/head_buffer.hpp"
#include "m0/http/head_parser.hpp"

#include "input.hpp"

namespace {

using namespace m0::http;

bool inside(std::string_view view, std::string_view raw) {
  return view.data() == nullptr || (view.data() >= raw.data() && view.data() + view.size() <= raw.data() + raw.size());
}

bool same(std::string_view a, std::string_view b) { return a == b && (a.data() == nullptr) == (b.data() == nullptr); }

void check_equal(const RequestHead& a, const RequestHead& b) {
  M0_CHECK(same(a.raw, b.raw) && same(a.method, b.method) && same(a.target, b.target));
  M0_CHECK(same(a.path, b.path) && same(a.query, b.query) && same(a.authority, b.authority));
  M0_CHECK(a.content_length == b.content_length && a.version == b.version && a.form == b.form && a.body == b.body);
  M0_CHECK(a.keep_alive == b.keep_alive && a.expect_continue == b.expect_continue);
  M0_CHECK(a.fields.size() == b.fields.size());
  for (std::size_t i = 0; i < a.fields.size(); ++i) {
    M0_CHECK(same(a.fields[i].name, b.fields[i].name) && same(a.fields[i].value, b.fields[i].value));
  }
}

void check_rules(const RequestHead& head, const Limits& limits) {
  M0_CHECK(head.raw.size() <= limits.max_head);
  M0_CHECK(head.raw.ends_with("\r\n\r\n"));
  for (std::size_t i = 0; i < head.raw.size(); ++i) {
    M0_CHECK((head.raw[i] == '\n') == (i > 0 && head.raw[i - 1] == '\r'));
  }
  M0_CHECK(is_token(head.method) && head.method != "CONNECT");
  M0_CHECK(inside(head.method, head.raw) && inside(head.target, head.raw) && inside(head.query, head.raw));
  M0_CHECK(inside(head.authority, head.raw));
  M0_CHECK(!head.path.empty() && (head.path == "*" || head.path.front() == '/'));
  M0_CHECK(head.authority.data() == nullptr ? head.version == Version::Http10 : is_authority(head.authority));
  int hosts = 0;
  int lengths = 0;
  int codings = 0;
  for (const Field& field : head.fields) {
    M0_CHECK(is_token(field.name) && is_field_value(field.value) && inside(field.value, head.raw));
    M0_CHECK(m0::base::trim_ows(field.value).size() == field.value.size());
    hosts += m0::base::iequals(field.name, "host") ? 1 : 0;
    lengths += m0::base::iequals(field.name, "content-length") ? 1 : 0;
    codings += m0::base::iequals(field.name, "transfer-encoding") ? 1 : 0;
  }
  M0_CHECK(hosts == 1 || (hosts == 0 && head.version == Version::Http10));
  M0_CHECK(lengths + codings <= 1);
  M0_CHECK((lengths == 1) == (head.body == BodyKind::Length) && (codings == 1) == (head.body == BodyKind::Chunked));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  m0::fuzz::Input input(data, size);
  const Limits limits = m0::fuzz::limits_from(input.byte());
  const std::string bytes(input.rest());  // a block of its own
  if (bytes.empty()) return 0;

  RequestHead head;
  HeadParser parser(HeadParser::Section::Request);
  const auto whole = parser.parse(limits, bytes, head);
  if (whole && *whole != 0) check_rules(head, limits);

  HeadBuffer buffer(HeadParser(HeadParser::Section::Request), {}, {});
  std::expected<HeadBuffer::Fed, Refusal> fed;
  std::size_t used = 0;
  while (used < bytes.size() && fed && !fed->complete) {
    fed = buffer.feed(limits, std::string_view(bytes).substr(used, 1));
    if (fed) used += fed->used;
  }
  M0_CHECK(fed.has_value() == whole.has_value());
  if (!fed) {
    M0_CHECK(fed.error().status == whole.error().status && fed.error().why == whole.error().why);
  } else {
    M0_CHECK(fed->complete == (*whole != 0));
    if (!fed->complete) return 0;
    M0_CHECK(used == *whole);
    check_equal(head, buffer.head());
  }
  return 0;
}
