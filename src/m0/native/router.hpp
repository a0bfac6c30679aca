#pragma once
// From a request's method and path to a member function of the handler.

#include <string_view>
#include <vector>

#include "m0/handler/request.hpp"
#include "m0/handler/response.hpp"
#include "m0/native/route_table.hpp"

namespace m0::native {

/// Usually one static object of the handler's class, filled before main:
///
///   inline static const m0::Router<Items> routes = m0::Router<Items>().get("/", &Items::list).get("/:id",
///   &Items::one); m0::Response handle(const m0::Request& request) { return routes.answer(*this, request); }
///
/// Paths are those below the mount. A path that no pattern matches is a 404, one that has other methods a 405 with
/// Allow; OPTIONS is answered 204 with Allow, HEAD by GET, unless they have patterns of their own. Patterns are as
/// RouteTable::add says, and throw std::invalid_argument. answer() is const: any thread.
template <class H>
class Router {
 public:
  using Action = handler::Response (H::*)(const handler::Request&);

  Router&& on(std::string_view method, std::string_view pattern, Action action) && {
    table_.add(method, pattern);
    actions_.push_back(action);
    return std::move(*this);
  }
  Router&& get(std::string_view pattern, Action action) && { return std::move(*this).on("GET", pattern, action); }
  Router&& post(std::string_view pattern, Action action) && { return std::move(*this).on("POST", pattern, action); }
  Router&& put(std::string_view pattern, Action action) && { return std::move(*this).on("PUT", pattern, action); }
  Router&& patch(std::string_view pattern, Action action) && { return std::move(*this).on("PATCH", pattern, action); }
  Router&& del(std::string_view pattern, Action action) && { return std::move(*this).on("DELETE", pattern, action); }

  [[nodiscard]] handler::Response answer(H& handler, const handler::Request& request) const {
    const RouteTable::Match match = table_.match(request.method(), request.path());
    if (match.index == RouteTable::Match::kNone) return refusal(match, request);
    return (handler.*actions_[match.index])(request.with_params(match.params));
  }

 private:
  static handler::Response refusal(const RouteTable::Match& match, const handler::Request& request) {
    if (match.allow.empty()) return handler::Response::with_status(404);
    return handler::Response::with_status(request.method() == "OPTIONS" ? 204 : 405).set("Allow", match.allow);
  }

  RouteTable table_;
  std::vector<Action> actions_;
};

}  // namespace m0::native
