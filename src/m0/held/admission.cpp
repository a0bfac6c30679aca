#include "m0/held/admission.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <utility>

#include "m0/base/bytes.hpp"
#include "m0/base/clock.hpp"
#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/handler/problem.hpp"
#include "m0/held/origin.hpp"
#include "m0/held/websocket_encoding.hpp"
#include "m0/websocket/handshake.hpp"

namespace m0::held {
namespace {

using base::metric::Counter;
using handler::Hold;
using handler::ResponseBody;

const Counter g_refused("m0_holds_refused_total", "Holds that were answered 500 because of what they asked for");
const Counter g_bad_handshakes("m0_websocket_handshakes_refused_total",
                               "WebSocket handshakes that were no good, or were none");
const Counter g_bad_origins("m0_websocket_origins_refused_total",
                            "WebSocket handshakes of pages that came from somewhere else");

// What a middleware says of a body of known content, or says otherwise than an event stream must.
constexpr std::array<std::string_view, 13> kReplacedFields{
    "Content-Range",    "Content-Digest", "Content-Disposition", "Content-Length", "Content-Type",  "Content-Encoding",
    "Content-MD5",      "ETag",           "Last-Modified",       "Expires",        "Cache-Control", "Accept-Ranges",
    "X-Accel-Buffering"};

/// The end of a sentence, or nothing.
std::string_view problem_of(const handler::Response& response) noexcept {
  if (response.body.kind != ResponseBody::Kind::Bytes && response.body.kind != ResponseBody::Kind::Foreign) {
    return "the body of a held answer is the head of its stream, and must not be a stream or file itself";
  }
  if (!body_of(response.body).empty() && response.head.fields.find("Content-Encoding").data() != nullptr) {
    return "its body must not be compressed; leave the path out of the middleware that does it";
  }
  return {};
}

void refuse_wish(handler::Exchange& exchange, std::string_view problem) {
  g_refused.add();
  base::log::error("{} {}: the answer cannot be held: {}", exchange.request.method, exchange.request.path, problem);
  handler::make_error_page(500, exchange.response);
}

void refuse_handshake(handler::Exchange& exchange, int status, std::string_view why) {
  base::log::debug("{} {}: no WebSocket: {}", exchange.request.method, exchange.request.path, why);
  g_bad_handshakes.add();
  handler::make_error_page(status, exchange.response);
  if (status != 426) return;
  exchange.response.head.fields.add("Upgrade", "websocket");
  exchange.response.head.fields.add("Sec-WebSocket-Version", websocket::kVersion);
}

void refuse_origin(handler::Exchange& exchange) {
  g_bad_origins.add();
  // An operator whose proxy does not say what it was asked for looks for this line; an attacker must not fill the disk.
  static std::atomic<std::int64_t> told{-1};
  const std::int64_t minute = std::chrono::floor<std::chrono::minutes>(base::now().time_since_epoch()).count();
  if (told.exchange(minute) != minute) {
    base::log::warning(
        "{} {}: a WebSocket of a page from somewhere else was refused with 403: its Origin is not the scheme and host "
        "of the request; add it to --allowed-origins, or let the proxy send Host and X-Forwarded-Proto",
        exchange.request.method, exchange.request.path);
  }
  handler::make_error_page(403, exchange.response);
}

std::optional<Admission> admit_stream(handler::Exchange& exchange, Hold hold) {
  handler::Response& response = exchange.response;
  if (exchange.request.method == "HEAD") {
    // Its head is that of a GET: without a length.
    response.body.clear();
    response.body.kind = ResponseBody::Kind::Window;
  }
  response.head.status = 200;
  response.head.reason.clear();
  for (const std::string_view name : kReplacedFields) response.head.fields.remove(name);
  response.head.fields.add("Content-Type", "text/event-stream");
  response.head.fields.add("Cache-Control", "no-cache, no-transform");
  response.head.fields.add("X-Accel-Buffering", "no");
  if (exchange.request.method == "HEAD") return std::nullopt;
  return Admission{.hold = std::move(hold), .switching = {}};
}

std::optional<Admission> admit_websocket(handler::Exchange& exchange, Hold hold, const Config& config) {
  if (!websocket::asks_for_websocket(exchange.request)) {
    refuse_handshake(exchange, 426, "it was not asked for");
    return std::nullopt;
  }
  // All share one compressor, and its window is none of the smallest.
  const auto handshake = websocket::read_handshake(
      exchange.request, websocket::DeflateSettings{.least_server_window_bits = SharedDeflater::kWindowBits});
  if (!handshake) {
    refuse_handshake(exchange, handshake.error().status, handshake.error().why);
    return std::nullopt;
  }
  if (!hold.any_origin && !origin_passes(exchange, config.allowed_origins)) {
    refuse_origin(exchange);
    return std::nullopt;
  }
  http::FieldList& fields = exchange.response.head.fields;
  Admission admission{.hold = std::move(hold),
                      .switching = {},
                      .deflate = handshake->deflate.has_value(),
                      .binary = asks_for_binary(exchange.response)};
  const std::string subprotocol(fields.find("Sec-WebSocket-Protocol"));
  for (const std::string_view name : kReplacedFields) fields.remove(name);
  if (!websocket::append_switching_protocols(admission.switching, *handshake, subprotocol, fields)) {
    refuse_wish(exchange, "its Sec-WebSocket-Protocol is none that the client has offered");
    return std::nullopt;
  }
  exchange.response.head.status = 101;
  return admission;
}

}  // namespace

std::string_view body_of(const ResponseBody& body) noexcept {
  return body.kind == ResponseBody::Kind::Foreign ? body.foreign->bytes() : std::string_view(body.bytes);
}

bool asks_for_binary(const handler::Response& response) noexcept {
  const std::string_view type = response.head.fields.find("Content-Type");
  return base::iequals(base::trim_ows(type.substr(0, type.find(';'))), "application/octet-stream");
}

std::optional<Admission> admit(handler::Exchange& exchange, const Config& config) {
  handler::Response& response = exchange.response;
  auto hold = handler::take_hold(response.head.fields);
  if (!hold) {
    refuse_wish(exchange, hold.error());
    return std::nullopt;
  }
  if (!*hold || response.head.status >= 300) return std::nullopt;  // one that refuses is just that
  if (const std::string_view problem = problem_of(response); !problem.empty()) {
    refuse_wish(exchange, problem);
    return std::nullopt;
  }
  if ((*hold)->kind == Hold::Kind::Stream) return admit_stream(exchange, std::move(**hold));
  return admit_websocket(exchange, std::move(**hold), config);
}

}  // namespace m0::held
