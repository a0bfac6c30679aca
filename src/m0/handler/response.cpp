#include "m0/handler/response.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "m0/base/bytes.hpp"
#include "m0/handler/problem.hpp"
#include "m0/http/percent.hpp"

namespace m0::handler {
namespace {

struct Type {
  std::string_view ending;
  std::string_view content_type;
};

// What pages are made of; the registry has some two thousand more, and a handler can name them.
constexpr std::array kTypes{
    Type{"css", "text/css; charset=utf-8"},
    Type{"csv", "text/csv; charset=utf-8"},
    Type{"gif", "image/gif"},
    Type{"htm", "text/html; charset=utf-8"},
    Type{"html", "text/html; charset=utf-8"},
    Type{"ico", "image/vnd.microsoft.icon"},
    Type{"jpeg", "image/jpeg"},
    Type{"jpg", "image/jpeg"},
    Type{"js", "text/javascript; charset=utf-8"},
    Type{"json", "application/json"},
    Type{"mjs", "text/javascript; charset=utf-8"},
    Type{"mp4", "video/mp4"},
    Type{"pdf", "application/pdf"},
    Type{"png", "image/png"},
    Type{"svg", "image/svg+xml"},
    Type{"txt", "text/plain; charset=utf-8"},
    Type{"wasm", "application/wasm"},
    Type{"webp", "image/webp"},
    Type{"woff2", "font/woff2"},
    Type{"xml", "application/xml"},
};

std::string_view type_of(std::string_view path) noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos) {
    for (const Type& type : kTypes) {
      if (base::iequals(name.substr(dot + 1), type.ending)) return type.content_type;
    }
  }
  return "application/octet-stream";
}

void check_field(std::string_view name, std::string_view value) {
  if (!http::is_token(name)) throw std::invalid_argument("a field's name is a token (RFC 9110 5.6.2)");
  if (!http::is_field_value(value)) {
    throw std::invalid_argument("a field's value has no line breaks and no other control characters (RFC 9110 5.5)");
  }
}

void ask_for_hold(Response& response, std::string_view kind, std::initializer_list<std::string_view> channels) {
  response.head.fields.add("M0-Hold", kind);
  for (const std::string_view channel : channels) {
    std::string name;
    http::percent_encode(channel, name);
    response.head.fields.add("M0-Channel", name);
  }
}

}  // namespace

Response Response::bytes(std::string_view content_type, std::string body, int status) {
  Response response;
  response.head.status = status;
  response.set("Content-Type", content_type);
  response.body.bytes = std::move(body);
  return response;
}

Response Response::text(std::string body, int status) {
  return bytes("text/plain; charset=utf-8", std::move(body), status);
}

Response Response::json(std::string body, int status) { return bytes("application/json", std::move(body), status); }

Response Response::problem(int status, std::string_view detail) {
  Response response;
  make_problem(status, detail, response);
  return response;
}

Response Response::with_status(int status) {
  if (status >= 400) return problem(status, {});
  Response response;
  response.head.status = status;
  return response;
}

Response Response::redirect(std::string_view location, int status) {
  return with_status(status).set("Location", location);
}

Response Response::file(const std::string& path, std::string_view content_type) {
  // Else the name would end there for the kernel, and go on for whoever judges it by its ending.
  if (path.find('\0') != std::string::npos) return with_status(404);
  // Not to wait in open() for a writer of a pipe.
  base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about{};
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG || errno == ELOOP || errno == ENXIO) {
      return with_status(404);
    }
    if (errno == EACCES) return with_status(403);
    throw std::system_error(errno, std::generic_category(), "cannot open " + path);
  }
  if (::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode)) return with_status(404);
  Response response;
  response.set("Content-Type", content_type.empty() ? type_of(path) : content_type);
  response.body.kind = ResponseBody::Kind::File;
  response.body.file = std::move(fd);
  response.body.file_length = static_cast<std::uint64_t>(about.st_size);
  return response;
}

Response Response::hold(std::initializer_list<std::string_view> channels, std::string head) {
  Response response = bytes("text/event-stream", std::move(head));
  ask_for_hold(response, "stream", channels);
  return response;
}

Response Response::hold_websocket(std::initializer_list<std::string_view> channels, std::string first) {
  Response response = text(std::move(first));
  ask_for_hold(response, "websocket", channels);
  return response;
}

Response Response::stream(std::string_view content_type, Producer producer) {
  if (!producer) throw std::invalid_argument("a stream has a producer");
  Response response;
  response.set("Content-Type", content_type);
  response.body.kind = ResponseBody::Kind::Stream;
  response.body.producer = std::move(producer);
  return response;
}

Response& Response::set(std::string_view name, std::string_view value) & {
  check_field(name, value);
  head.fields.remove(name);
  head.fields.add(name, value);
  return *this;
}

Response& Response::add(std::string_view name, std::string_view value) & {
  check_field(name, value);
  head.fields.add(name, value);
  return *this;
}

}  // namespace m0::handler
