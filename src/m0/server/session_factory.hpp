#pragma once
// Which protocol a new connection speaks. HTTP/1.1 on every one today; a second protocol is chosen here.

#include <memory>

#include "m0/http/h1_session.hpp"

namespace m0::server {

[[nodiscard]] inline std::unique_ptr<http::Session> make_session(http::H1Context& context) {
  return std::make_unique<http::H1Session>(context);
}

}  // namespace m0::server
