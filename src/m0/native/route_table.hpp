#pragma once
// Patterns of paths, such as "/items/:id", and which of them a request matches.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "m0/handler/request.hpp"

namespace m0::native {

/// Filled at start-up; match() is const: any thread.
class RouteTable {
 public:
  RouteTable();
  RouteTable(RouteTable&&) noexcept;
  RouteTable& operator=(RouteTable&&) noexcept;
  ~RouteTable();

  /// The i-th pattern added has index i. A pattern is a path whose segments are literal (and decoded), ":name" for one
  /// segment that is not empty, or, at the end, "*name" for all that is left. Throws std::invalid_argument.
  void add(std::string_view method, std::string_view pattern);

  struct Match {
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::size_t index = kNone;
    std::vector<handler::Request::Param> params;
    std::string allow;  // without an index: the methods that the path has (RFC 9110 10.2.1); empty: no such path
  };
  /// `path` is percent-encoded. Where several patterns fit, literal segments come before ":name", and that before
  /// "*name". HEAD is answered by GET unless it has a pattern of its own.
  [[nodiscard]] Match match(std::string_view method, std::string_view path) const;

 private:
  struct Node;
  struct Search;
  std::unique_ptr<Node> root_;
  std::size_t count_ = 0;
};

}  // namespace m0::native
