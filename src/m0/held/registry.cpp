#include "m0/held/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "m0/base/bytes.hpp"
#include "m0/base/logger.hpp"
#include "m0/base/metric.hpp"
#include "m0/handler/problem.hpp"
#include "m0/held/last_event_id.hpp"

namespace m0::held {
namespace {

using base::metric::Counter;
using handler::Hold;
using handler::ResponseBody;
using Framing = EventStreamEncoding::Framing;

const Counter g_held("m0_streams_held_total", "Answers that were held as event streams");
const Counter g_refused("m0_holds_refused_total", "Holds that were answered 500 because of what they asked for");
const Counter g_resumed("m0_streams_resumed_total", "Event streams that went on after an id that they had got before");
const Counter g_told_to_come_back("m0_streams_refused_total",
                                  "Requests for an event stream that were told to come back instead of a 503");
const Counter g_bad_ids("m0_bad_event_ids_total", "Last-Event-IDs that no server of this kind gave");

// What a middleware says of a body of known content, or says otherwise than an event stream must.
constexpr std::array<std::string_view, 13> kReplacedFields{
    "Content-Range",    "Content-Digest", "Content-Disposition", "Content-Length", "Content-Type",  "Content-Encoding",
    "Content-MD5",      "ETag",           "Last-Modified",       "Expires",        "Cache-Control", "Accept-Ranges",
    "X-Accel-Buffering"};

std::string_view body_of(const ResponseBody& body) noexcept {
  return body.kind == ResponseBody::Kind::Foreign ? body.foreign->bytes() : std::string_view(body.bytes);
}

/// The end of a sentence, or nothing.
std::string_view problem_of(const handler::Response& response, const Hold& hold) noexcept {
  if (hold.kind == Hold::Kind::WebSocket) return "WebSockets are not in this version";
  if (response.body.kind != ResponseBody::Kind::Bytes && response.body.kind != ResponseBody::Kind::Foreign) {
    return "the body of a held answer is the head of its stream, and must not be a stream or file itself";
  }
  if (!body_of(response.body).empty() && response.head.fields.find("Content-Encoding").data() != nullptr) {
    return "the head of an event stream must not be compressed; leave the path out of the middleware that does it";
  }
  return {};
}

}  // namespace

Registry::Registry(pubsub::EventLog& log, unsigned reader, const Config& config)
    : log_(log),
      reader_(reader),
      config_(config),
      hub_(log),
      outbox_(log),
      epoch_(base::now()),
      random_(std::random_device{}()) {
  pubsub::use_outbox(&outbox_);
  // All that is there, before anybody asks for it.
  while (hub_.read()) {
  }
}

Registry::~Registry() { pubsub::use_outbox(nullptr); }

std::optional<Hold> Registry::prepare(handler::Exchange& exchange) {
  handler::Response& response = exchange.response;
  auto hold = handler::take_hold(response.head.fields);
  std::string problem;
  if (!hold) {
    problem = hold.error();
  } else if (!*hold || response.head.status >= 300) {
    return std::nullopt;  // an ordinary answer; one that refuses is just that
  } else {
    problem = problem_of(response, **hold);
  }
  if (!problem.empty()) {
    g_refused.add();
    base::log::error("{} {}: the answer cannot be held: {}", exchange.request.method, exchange.request.path, problem);
    handler::make_error_page(500, response);
    return std::nullopt;
  }
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
  return std::move(*hold);
}

Registry::Beginning Registry::beginning(const handler::Exchange& exchange, const Hold& hold) {
  // What was read of the log decides what a channel's last events are.
  while (hub_.read()) {
  }
  const std::uint64_t epoch = log_.epoch();
  // A publisher may be stopped between an event, which was delivered, and its count.
  const std::uint64_t newest = std::max(log_.last_seq(), hub_.read_seq());
  std::uint64_t floor = 0;
  // One that the log has not come to hides nothing that will be published.
  if (hold.since && hold.since->epoch == epoch) floor = std::min(hold.since->seq, newest);

  const std::string said = last_event_id(exchange.request);
  const std::optional<pubsub::ParsedId> id = pubsub::parse_id(said);
  if (!said.empty() && !id) g_bad_ids.add();
  if (id) {
    g_resumed.add();
    if (id->id.epoch == epoch && id->id.seq <= newest) return {std::max(id->id.seq, floor), {}};
    // Another life of the log, or one that it never came to: everything of this one, behind one gap.
    return {std::max(hub_.before_oldest(), floor), id->id};
  }
  std::uint64_t cursor = exchange.log_position;
  if (hold.replay > 0) {
    for (const std::string& channel : hold.channels) {
      cursor = std::min(cursor, hub_.before_last(channel, hold.replay));
    }
  }
  return {std::max(cursor, floor), {}};
}

bool Registry::asks_for_event_stream(const http::RequestHead& request) noexcept {
  if (request.method != "GET") return false;  // an EventSource asks so; who posts is told that it was not heard
  for (const http::Field& field : request.fields) {
    if (base::iequals(field.name, "Accept") && field.value.find("text/event-stream") != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

void Registry::refuse(handler::Exchange& exchange) {
  g_told_to_come_back.add();
  handler::Response& response = exchange.response;
  response.clear();
  response.head.fields.add("Content-Type", "text/event-stream");
  response.head.fields.add("Cache-Control", "no-cache, no-transform");
  response.body.kind = ResponseBody::Kind::Window;
  exchange.window = std::make_unique<handler::BodyWindow>();
  static_cast<void>(exchange.window->try_write(fmt::format("retry: {}\n\n", spread_retry())));
  exchange.aborted = true;
}

unsigned Registry::spread_retry() {
  const auto spread = std::chrono::duration_cast<std::chrono::milliseconds>(config_.drain_spread);
  return config_.retry_ms + random_below(static_cast<std::uint32_t>(spread.count()));
}

std::unique_ptr<Stream> Registry::open(Wire& wire, const handler::Exchange& exchange, const Hold& hold,
                                       std::string head) {
  g_held.add();
  const Framing framing = exchange.request.version == http::Version::Http10 ? Framing::Plain : Framing::Chunked;
  const EventStreamEncoding& encoding = EventStreamEncoding::of(framing);
  const Beginning from = beginning(exchange, hold);
  const pubsub::EventId at{log_.epoch(), from.cursor};
  encoding.append_cursor(head, at, config_.retry_ms);
  if (from.foreign) static_cast<void>(encoding.append_gap(head, *from.foreign, at));
  encoding.append_raw(head, body_of(exchange.response.body));

  const auto whole_seconds = [](base::Duration span) {
    return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(span).count());
  };
  const std::uint32_t now = seconds(base::now());
  const std::uint32_t every =
      std::max(1U, whole_seconds(hold.keep_alive > base::Duration::zero() ? hold.keep_alive : config_.keep_alive));
  Stream::Times times{};
  times.keep_alive_every = every;
  // The first one at random: clients that came together do not stay together.
  times.keep_alive_at = now + std::max(1U, every - random_below(every / 2 + 1));
  if (hold.timeout > base::Duration::zero()) times.leave_at = now + whole_seconds(hold.timeout);

  auto stream = std::make_unique<Stream>(wire, hub_, encoding, times, config_.retry_ms);
  const std::vector<std::string_view> channels(hold.channels.begin(), hold.channels.end());
  stream->open(std::move(head), channels, from.cursor);
  schedule(*stream);
  return stream;
}

// ---- the turn

bool Registry::turn() {
  more_ = hub_.read();
  more_ = hub_.flush() || more_;
  return more_;
}

bool Registry::may_sleep() noexcept {
  if (more_) return false;
  log_.announce_sleep(reader_);
  if (!hub_.behind()) return true;
  log_.awake(reader_);
  return false;
}

std::uint32_t Registry::seconds(base::Instant now) const noexcept {
  // From 1: 0 is "never".
  return 1 + static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(now - epoch_).count());
}

void Registry::schedule(Stream& stream) {
  // Later than the buckets go round: looked at once a round.
  due_[std::max(stream.due(), ticked_ + 1) % kBuckets].push_back(stream);
}

void Registry::tick(base::Instant now) {
  const std::uint32_t second = seconds(now);
  // After a long stall each bucket is looked at once.
  if (second - ticked_ > kBuckets) ticked_ = second - static_cast<std::uint32_t>(kBuckets);
  while (ticked_ < second) {
    ++ticked_;
    Due& bucket = due_[ticked_ % kBuckets];
    Due later;
    while (Stream* const stream = bucket.pop_front()) {
      // Those of a later round, and those that have done what was due and will be due again.
      if (stream->due() > second || stream->tick(second, spread_retry())) later.push_back(*stream);
    }
    while (Stream* const stream = later.pop_front()) schedule(*stream);
  }
}

std::size_t Registry::drain(base::Duration elapsed, base::Duration within) {
  // The last ones are to be told too, before what is left is cut.
  const base::Duration spread = std::min(config_.drain_spread, within * 3 / 4);
  std::size_t left = 0;
  for (Due& bucket : due_) bucket.for_each([&](Stream&) { ++left; });
  to_drain_ = std::max(to_drain_, left);
  const double share = spread <= base::Duration::zero()
                           ? 1.0
                           : std::min(1.0, static_cast<double>(elapsed.count()) / static_cast<double>(spread.count()));
  // Rounded up: the first leaves at once, and one alone does not wait for nobody.
  const auto gone_by_now = static_cast<std::size_t>(share * static_cast<double>(to_drain_)) + 1;
  std::size_t to_go = gone_by_now > to_drain_ - left ? gone_by_now - (to_drain_ - left) : 0;
  for (Due& bucket : due_) {
    while (to_go > 0) {
      Stream* const stream = bucket.pop_front();
      if (stream == nullptr) break;
      stream->send_away(spread_retry());
      --to_go;
      --left;
    }
  }
  return left;
}

}  // namespace m0::held
