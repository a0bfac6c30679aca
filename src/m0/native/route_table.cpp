#include "m0/native/route_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "m0/http/headers.hpp"
#include "m0/http/percent.hpp"

namespace m0::native {
namespace {

/// The segments of a path that begins with a slash: "/a//b" has "a", "" and "b", "/" has one that is empty.
std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    segments.push_back(path.substr(1, end - 1));
    path.remove_prefix(end);
  }
  return segments;
}

[[noreturn]] void refuse(std::string_view pattern, std::string_view why) {
  throw std::invalid_argument(fmt::format("the route \"{}\": {}", pattern, why));
}

}  // namespace

struct RouteTable::Node {
  struct Route {
    std::string method;
    std::size_t index;
    std::vector<std::string> names;  // of what was matched on the way, in order
  };
  std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
  std::unique_ptr<Node> one;  // behind ":name"
  std::vector<Route> routes;  // that end here
  std::vector<Route> rest;    // that end here with "*name"

  static const Route* find(const std::vector<Route>& routes, std::string_view method) noexcept {
    const auto found = std::ranges::find(routes, method, &Route::method);
    return found == routes.end() ? nullptr : &*found;
  }
};

/// One request's way through the tree.
struct RouteTable::Search {
  std::string_view method;
  std::vector<std::string> segments;  // decoded
  std::vector<std::string> values;    // matched on the way
  std::set<std::string, std::less<>> methods;
  Match match;

  bool ends(const std::vector<Node::Route>& routes) {
    for (const Node::Route& route : routes) {
      methods.insert(route.method);
      if (route.method == "GET") methods.insert("HEAD");
    }
    const Node::Route* route = Node::find(routes, method);
    if (route == nullptr && method == "HEAD") route = Node::find(routes, "GET");
    if (route == nullptr) return false;
    match.index = route->index;
    for (std::size_t i = 0; i < route->names.size(); ++i) match.params.push_back({route->names[i], values[i]});
    return true;
  }

  bool walk(const Node& node, std::size_t at) {
    if (at == segments.size()) return ends(node.routes);
    if (const auto literal = node.literals.find(segments[at]); literal != node.literals.end()) {
      if (walk(*literal->second, at + 1)) return true;
    }
    if (node.one && !segments[at].empty()) {
      values.push_back(segments[at]);
      if (walk(*node.one, at + 1)) return true;
      values.pop_back();
    }
    if (node.rest.empty()) return false;
    std::string left = segments[at];
    for (std::size_t i = at + 1; i < segments.size(); ++i) left += "/" + segments[i];
    values.push_back(std::move(left));
    if (ends(node.rest)) return true;
    values.pop_back();
    return false;
  }
};

RouteTable::RouteTable() : root_(std::make_unique<Node>()) {}
RouteTable::RouteTable(RouteTable&&) noexcept = default;
RouteTable& RouteTable::operator=(RouteTable&&) noexcept = default;
RouteTable::~RouteTable() = default;

void RouteTable::add(std::string_view method, std::string_view pattern) {
  if (!http::is_token(method)) refuse(pattern, fmt::format("\"{}\" is no method", method));
  if (!pattern.starts_with('/')) refuse(pattern, "a pattern begins with a slash");
  Node* node = root_.get();
  std::vector<std::string> names;
  const std::vector<std::string_view> segments = segments_of(pattern);
  bool rest = false;
  for (const std::string_view segment : segments) {
    if (rest) refuse(pattern, "nothing can follow a \"*name\"");
    if (!segment.starts_with(':') && !segment.starts_with('*')) {
      std::unique_ptr<Node>& next = node->literals[std::string(segment)];
      if (!next) next = std::make_unique<Node>();
      node = next.get();
      continue;
    }
    std::string name(segment.substr(1));
    if (name.empty()) refuse(pattern, "a part has no name");
    if (std::ranges::find(names, name) != names.end()) refuse(pattern, "two parts have the same name");
    names.push_back(std::move(name));
    rest = segment.starts_with('*');
    if (rest) continue;
    if (!node->one) node->one = std::make_unique<Node>();
    node = node->one.get();
  }
  std::vector<Node::Route>& routes = rest ? node->rest : node->routes;
  if (Node::find(routes, method) != nullptr) refuse(pattern, fmt::format("it is there already for {}", method));
  routes.push_back({std::string(method), count_++, std::move(names)});
}

RouteTable::Match RouteTable::match(std::string_view method, std::string_view path) const {
  Search search;
  search.method = method;
  for (const std::string_view segment : segments_of(path)) {
    http::percent_decode(segment, search.segments.emplace_back());
  }
  if (path.starts_with('/')) search.walk(*root_, 0);
  if (search.match.index == Match::kNone && !search.methods.empty()) {
    search.methods.insert("OPTIONS");
    for (const std::string& each : search.methods) {
      if (!search.match.allow.empty()) search.match.allow += ", ";
      search.match.allow += each;
    }
  }
  return std::move(search.match);
}

}  // namespace m0::native
