#include "m0/handler/problem.hpp"

#include "m0/base/bytes.hpp"

namespace m0::handler {

void make_error_page(int status, Response& response) {
  response.clear();
  response.head.status = status;
  response.head.fields.add("Content-Type", "text/plain; charset=utf-8");
  base::append_decimal(response.body.bytes, static_cast<std::uint64_t>(status));
  response.body.bytes += ' ';
  response.body.bytes += http::reason_phrase(status);
  response.body.bytes += '\n';
}

}  // namespace m0::handler
