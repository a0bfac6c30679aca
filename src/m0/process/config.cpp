#include "m0/process/config.hpp"

#include "m0/net/bind_address.hpp"

namespace m0::process {

std::string bind_problem(std::string_view text) {
  const auto address = net::parse_bind_address(text);
  return address ? "" : address.error();
}

}  // namespace m0::process
