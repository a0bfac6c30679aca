#include "m0/handler/problem.hpp"

#include "m0/base/bytes.hpp"
#include "m0/base/escape.hpp"

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

void make_problem(int status, std::string_view detail, Response& response) {
  response.clear();
  response.head.status = status;
  response.head.fields.add("Content-Type", "application/problem+json");
  std::string& out = response.body.bytes;
  out += R"({"status":)";
  base::append_decimal(out, static_cast<std::uint64_t>(status));
  out += R"(,"title":")";
  base::append_json_string(out, http::reason_phrase(status));
  if (!detail.empty()) {
    out += R"(","detail":")";
    base::append_json_string(out, detail);
  }
  out += "\"}\n";
}

}  // namespace m0::handler
