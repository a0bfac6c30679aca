#include "m0/handler/request.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "m0/http/percent.hpp"

namespace m0::handler {
namespace {

std::string form_decoded(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  std::string decoded;
  http::percent_decode(spaced, decoded);
  return decoded;
}

}  // namespace

std::string_view Request::path() const noexcept {
  const std::string_view rest = exchange_->request.path.substr(exchange_->mount_length);
  return rest.empty() ? std::string_view("/") : rest;
}

std::string_view Request::mount() const noexcept { return exchange_->request.path.substr(0, exchange_->mount_length); }

std::optional<std::string> Request::query_value(std::string_view name) const {
  for (std::string_view rest = query(); !rest.empty();) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (form_decoded(pair.substr(0, equals)) != name) continue;
    return form_decoded(pair.substr(std::min(equals + 1, pair.size())));
  }
  return std::nullopt;
}

std::string Request::whole_body() const {
  if (exchange_->body.in_memory()) return std::string(body());
  std::string all(static_cast<std::size_t>(body_size()), '\0');
  for (std::size_t at = 0; at < all.size();) {
    const std::ptrdiff_t got = read_body(at, std::span(all).subspan(at));
    if (got <= 0) throw std::system_error(got < 0 ? errno : EIO, std::generic_category(), "the request's body");
    at += static_cast<std::size_t>(got);
  }
  return all;
}

std::string_view Request::param(std::string_view name) const noexcept {
  const auto found = std::ranges::find(params_, name, &Param::name);
  return found == params_.end() ? std::string_view{} : std::string_view(found->value);
}

}  // namespace m0::handler
