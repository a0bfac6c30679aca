#include "m0/http/request_target.hpp"

#include "m0/base/bytes.hpp"
#include "m0/http/authority.hpp"

namespace m0::http {
namespace {

void split_query(std::string_view text, RequestHead& head) noexcept {
  const std::size_t mark = text.find('?');
  head.path = text.substr(0, mark);
  if (mark != std::string_view::npos) head.query = text.substr(mark + 1);
}

/// What follows "http://" or "https://", the schemes an origin of these can be asked for; empty for anything else.
std::string_view after_scheme(std::string_view target) noexcept {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (base::iequals(target.substr(0, scheme.size()), scheme)) return target.substr(scheme.size());
  }
  return {};
}

}  // namespace

std::expected<void, Refusal> split_target(RequestHead& head) noexcept {
  // RFC 9110 9.3.6: only a proxy has a use for CONNECT, and this is an origin.
  if (head.method == "CONNECT") return std::unexpected(Refusal{501, "CONNECT is for proxies"});
  const std::string_view target = head.target;
  if (target.starts_with('/')) {
    head.form = TargetForm::Origin;
    split_query(target, head);
    return {};
  }
  if (target == "*") {
    if (head.method != "OPTIONS") return std::unexpected(Refusal{400, "asterisk-form without OPTIONS"});
    head.form = TargetForm::Asterisk;
    head.path = target;
    return {};
  }
  const std::string_view rest = after_scheme(target);
  const std::size_t end = rest.find_first_of("/?");
  head.form = TargetForm::Absolute;
  head.authority = rest.substr(0, end);
  if (!is_authority(head.authority)) return std::unexpected(Refusal{400, "malformed request target"});
  split_query(rest.substr(head.authority.size()), head);
  if (head.path.empty()) head.path = "/";
  return {};
}

}  // namespace m0::http
