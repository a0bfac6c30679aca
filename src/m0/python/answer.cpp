#include "m0/python/answer.hpp"

#include <Python.h>

#include <memory>

#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/python/gil.hpp"
#include "m0/python/response_arguments.hpp"
#include "m0/python/text.hpp"

namespace m0::python {
namespace {

const base::metric::Counter g_failed("m0_wsgi_failed_total", "Requests whose application raised an exception");
const base::metric::Counter g_cut("m0_wsgi_cut_total", "Answers cut because the application failed or said too little");

}  // namespace

bool Answer::set_head(PyObject* status, PyObject* headers) noexcept {
  exchange_.response.body.clear();
  given_ = 0;
  whole_ = has_body_ = false;
  has_head_ = read_response_arguments(status, headers, exchange_.response.head, declared_);
  bodyless_ = http::status_forbids_body(exchange_.response.head.status) || exchange_.request.method == "HEAD";
  return has_head_;
}

std::string_view Answer::within_declared(std::string_view bytes) noexcept {
  if (!declared_ || bytes.size() <= *declared_ - given_) return bytes;
  if (!excess_logged_ && !bodyless_) {
    base::log::warning("{} {}: the body is longer than its Content-Length of {}; the excess is dropped",
                       exchange_.request.method, exchange_.request.target, *declared_);
    excess_logged_ = true;
  }
  return bytes.substr(0, *declared_ - given_);
}

void Answer::give_whole(std::span<const PyRef> chunks) {
  std::uint64_t total = 0;
  for (const PyRef& chunk : chunks) total += static_cast<std::uint64_t>(PyBytes_Size(chunk.get()));
  // Too short, or the Content-Length of an answer to HEAD: the head promises what the body does not hold.
  if (declared_ && total < *declared_) {
    for (const PyRef& chunk : chunks) {
      if (!give(bytes_view(chunk.get()))) break;
    }
    return;
  }
  whole_ = has_body_ = true;
  handler::ResponseBody& body = exchange_.response.body;
  if (chunks.size() == 1 && total > kCopiedUpTo && (!declared_ || *declared_ == total)) {
    body.foreign = new PythonBytes(PyRef::borrow(chunks.front().get()), returned_);
    body.kind = handler::ResponseBody::Kind::Foreign;
    given_ = total;
    return;
  }
  if (chunks.size() > 1) body.bytes.reserve(static_cast<std::size_t>(declared_.value_or(total)));
  for (const PyRef& chunk : chunks) {
    const std::string_view bytes = within_declared(bytes_view(chunk.get()));
    body.bytes.append(bytes);
    given_ += bytes.size();
  }
}

void Answer::give_file(base::Fd file, std::uint64_t offset, std::uint64_t length) noexcept {
  handler::ResponseBody& body = exchange_.response.body;
  body.file = std::move(file);
  body.file_offset = offset;
  body.file_length = length;
  body.kind = handler::ResponseBody::Kind::File;
  given_ = length;
  whole_ = has_body_ = true;
}

bool Answer::begin_stream() {
  exchange_.window = std::make_unique<handler::BodyWindow>();
  exchange_.response.body.kind = handler::ResponseBody::Kind::Window;
  exchange_.response.body.declared = declared_;
  if (!exchange_.start_streaming()) return false;
  streaming_ = true;
  loop_.notify(exchange_);
  return true;
}

bool Answer::push(std::string_view bytes) noexcept {
  handler::BodyWindow& window = *exchange_.window;
  while (!bytes.empty()) {
    const std::size_t wrote = window.try_write(bytes);
    if (wrote != 0) {
      bytes.remove_prefix(wrote);
      given_ += wrote;
      loop_.notify(exchange_);
    } else if (window.closed()) {
      return false;
    } else {
      const GilReleased released;
      window.wait_for_room();
    }
  }
  return true;
}

bool Answer::give(std::string_view bytes) {
  has_body_ = true;
  bytes = within_declared(bytes);
  if (whole_ || bodyless_) return false;
  if (bytes.empty()) return !declared_ || given_ < *declared_;
  if (!streaming_ && declared_ && bytes.size() == *declared_) {
    exchange_.response.body.bytes.assign(bytes);
    given_ = bytes.size();
    whole_ = true;
    return false;
  }
  if (!streaming_ && !begin_stream()) return false;
  return push(bytes) && (!declared_ || given_ < *declared_);
}

void Answer::complete() {
  if (whole_ || exchange_.abandoned()) return;
  if (http::status_forbids_body(exchange_.response.head.status)) return;
  if (exchange_.request.method == "HEAD") {
    // What the head of a GET would say: the declared length, or none (RFC 9110 8.6).
    if (!streaming_) static_cast<void>(begin_stream());
    return;
  }
  if (!declared_ || given_ == *declared_) return;
  base::log::error("{} {}: the body ended {} bytes before its Content-Length of {}; the connection is closed",
                   exchange_.request.method, exchange_.request.target, *declared_ - given_, *declared_);
  if (streaming_ || begin_stream()) cut();
}

void Answer::cut() noexcept {
  g_cut.add();
  exchange_.aborted = true;
}

void Answer::fail() noexcept {
  g_failed.add();
  if (streaming_) {
    cut();
    return;
  }
  constexpr std::string_view kPage = "Internal Server Error\n";
  exchange_.response.clear();
  exchange_.window.reset();
  http::ResponseHead& head = exchange_.response.head;
  try {
    head.status = 500;
    head.fields.add("Content-Type", "text/plain; charset=utf-8");
    exchange_.response.body.bytes.assign(kPage);
  } catch (...) {  // no memory: the status alone
    exchange_.response.clear();
    head.status = 500;
  }
}

}  // namespace m0::python
