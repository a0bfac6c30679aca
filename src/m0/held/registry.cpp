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
#include "m0/held/stream.hpp"
#include "m0/held/websocket.hpp"
#include "m0/pubsub/control.hpp"
#include "m0/pubsub/presence.hpp"

namespace m0::held {
namespace {

using base::metric::Counter;
using handler::Hold;
using handler::ResponseBody;
using Framing = EventStreamEncoding::Framing;

const Counter g_held("m0_streams_held_total", "Answers that were held as event streams");
const Counter g_websockets("m0_websockets_held_total", "Answers that were held as WebSockets");
const Counter g_resumed("m0_streams_resumed_total", "Event streams that went on after an id that they had got before");
const Counter g_told_to_come_back("m0_streams_refused_total",
                                  "Requests for an event stream that were told to come back instead of a 503");
const Counter g_orders_lost("m0_orders_lost_total", "Times that send and close orders to a worker's clients were lost");
const Counter g_bad_ids("m0_bad_event_ids_total", "Last-Event-IDs that no server of this kind gave");

// Bytes of one worker's list of who is there.
constexpr std::size_t kMostPresence = std::size_t{48} * 1024;

std::vector<std::string_view> views_of(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

}  // namespace

Registry::Registry(pubsub::EventLog& log, unsigned reader, const Config& config, handler::PostOffice& office)
    : log_(log),
      reader_(reader),
      common_(log, config, [this](const pubsub::Record& record) { on_control(record); }),
      mailroom_(office, {.max_message = config.max_message, .closes_at_once = config.closes_at_once}),
      outbox_(log),
      answers_(log.answers()) {
  pubsub::use_outbox(&outbox_);
  // All that is there, before anybody asks for it.
  while (common_.hub.read()) {
  }
  // What servers told each other before is over, or for those that were there.
  caught_up_ = true;
  log_.begin_reading(reader_);
}

Registry::~Registry() {
  log_.end_reading(reader_);
  pubsub::use_outbox(nullptr);
}

Registry::Beginning Registry::beginning(const handler::Exchange& exchange, const Hold& hold) {
  // What was read of the log decides what a channel's last events are.
  while (common_.hub.read()) {
  }
  const std::uint64_t epoch = log_.epoch();
  // A publisher may be stopped between an event, which was delivered, and its count.
  const std::uint64_t newest = std::max(log_.last_seq(), common_.hub.read_seq());
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
    return {std::max(common_.hub.before_oldest(), floor), id->id};
  }
  std::uint64_t cursor = exchange.log_position;
  if (hold.replay > 0) {
    for (const std::string& channel : hold.channels) {
      cursor = std::min(cursor, common_.hub.before_last(channel, hold.replay));
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
  static_cast<void>(exchange.window->try_write(fmt::format("retry: {}\n\n", common_.spread_retry())));
  exchange.aborted = true;
}

bool Registry::was_dismissed(const http::RequestHead& request) noexcept {
  if (request.method != "GET") return false;
  const std::string said = last_event_id(request);
  if (said.empty()) return false;
  const std::optional<pubsub::ParsedId> id = pubsub::parse_id(said);
  return id && id->end;
}

Client::Times Registry::times(const Hold& hold) {
  const auto whole_seconds = [](base::Duration span) {
    return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(span).count());
  };
  const std::uint32_t now = common_.calendar.second_of(base::now());
  const base::Duration cadence = hold.keep_alive > base::Duration::zero() ? hold.keep_alive : common_.config.keep_alive;
  Client::Times times{};
  times.keep_alive_every = std::max(1U, whole_seconds(cadence));
  // The first one at random: clients that came together do not stay together.
  times.keep_alive_at =
      now + std::max(1U, times.keep_alive_every - common_.random_below(times.keep_alive_every / 2 + 1));
  if (hold.timeout > base::Duration::zero()) times.leave_at = now + whole_seconds(hold.timeout);
  return times;
}

std::unique_ptr<Client> Registry::open(Wire& wire, const handler::Exchange& exchange, const Admission& admission,
                                       std::string head) {
  const Beginning from = beginning(exchange, admission.hold);
  std::unique_ptr<Client> client = admission.hold.kind == Hold::Kind::WebSocket
                                       ? open_websocket(wire, exchange, admission, from, std::move(head))
                                       : open_stream(wire, exchange, admission, from, std::move(head));
  common_.calendar.schedule(*client);
  return client;
}

std::unique_ptr<Client> Registry::open_stream(Wire& wire, const handler::Exchange& exchange, const Admission& admission,
                                              const Beginning& from, std::string head) {
  g_held.add();
  const Framing framing = exchange.request.version == http::Version::Http10 ? Framing::Plain : Framing::Chunked;
  const EventStreamEncoding& encoding = EventStreamEncoding::of(framing);
  const pubsub::EventId at{log_.epoch(), from.cursor};
  if (from.foreign) {
    // The gap alone has the new id: who is cut before it is told again.
    encoding.append_retry(head, common_.config.retry_ms);
    static_cast<void>(encoding.append_gap(head, *from.foreign, at));
  } else {
    encoding.append_cursor(head, at, common_.config.retry_ms);
  }
  encoding.append_raw(head, body_of(exchange.response.body));
  auto stream = std::make_unique<Stream>(common_, wire, encoding, times(admission.hold), exchange.connection_id.serial,
                                         admission.hold.metadata);
  stream->open(std::move(head), views_of(admission.hold.channels), from.cursor);
  if (admission.hold.wants_open || admission.hold.wants_close) {
    stream->open_inbox(mailroom_, exchange, admission.hold);
  }
  return stream;
}

std::unique_ptr<Client> Registry::open_websocket(Wire& wire, const handler::Exchange& exchange,
                                                 const Admission& admission, const Beginning& from, std::string head) {
  g_websockets.add();
  const Hold& hold = admission.hold;
  const auto frames = hold.json ? WebSocketEncoding::Frames::Json : WebSocketEncoding::Frames::Raw;
  const WebSocketEncoding& encoding = common_.encodings.of(frames, admission.deflate);
  const pubsub::EventId at{log_.epoch(), from.cursor};
  if (!from.foreign) encoding.append_cursor(head, at);
  const bool told = !from.foreign || encoding.append_gap(head, *from.foreign, at);
  if (const std::string_view body = body_of(exchange.response.body); !body.empty()) {
    encoding.append_message(head, admission.binary ? websocket::Opcode::Binary : websocket::Opcode::Text, body);
  }
  auto websocket = std::make_unique<WebSocket>(common_, wire, encoding, times(hold), exchange.connection_id.serial,
                                               admission.deflate);
  websocket->open(std::move(head), views_of(hold.channels), from.cursor);
  websocket->open_inbox(mailroom_, exchange, hold);
  if (!told) websocket->fell_out();
  return websocket;
}

// ---- what servers tell each other

void Registry::on_control(const pubsub::Record& record) {
  const std::optional<pubsub::Verb> verb = pubsub::verb_of(record);
  if (!verb || !caught_up_) return;
  const auto addressee = [&]() -> Client* {
    const auto id = pubsub::parse_connection_id(record.channel());
    if (!id || id->worker != common_.worker) return nullptr;
    const auto found = common_.clients.find(id->serial);
    return found == common_.clients.end() ? nullptr : found->second;
  };
  const auto order = [&] { return Order{record.seq(), *verb, record.binary(), std::string(record.data())}; };
  switch (*verb) {
    case pubsub::Verb::Send:
    case pubsub::Verb::CloseConnection:
      if (Client* const client = addressee()) client->give(order());
      return;
    case pubsub::Verb::CloseChannel:
      common_.hub.for_each_subscriber(
          record.channel(), [&](pubsub::Subscriber& subscriber) { static_cast<Client&>(subscriber).give(order()); });
      return;
    case pubsub::Verb::AskPresence: tell_presence(record); return;
    case pubsub::Verb::TellPresence: return;  // who asked reads the log itself
  }
}

void Registry::tell_presence(const pubsub::Record& record) {
  const auto question = pubsub::read_question(record);
  if (!question) return;
  const std::size_t share = log_.answers().capacity() / (2 * std::size_t{log_.readers()});
  const std::size_t most_bytes = std::min({kMostPresence, log_.answers().largest_event() / 2, share});
  pubsub::PresenceAnswer answer(log_, reader_, most_bytes);
  std::uint64_t count = 0;
  common_.hub.for_each_subscriber(record.channel(), [&](pubsub::Subscriber& subscriber) {
    if (count++ >= question->limit) return;
    const auto& client = static_cast<const Client&>(subscriber);
    answer.add(pubsub::to_text(pubsub::ConnectionId{common_.worker, client.serial()}), client.metadata());
  });
  const std::string id(question->id);
  const std::string data = answer.data(count);
  static_cast<void>(answers_.publish(pubsub::control_event(pubsub::Verb::TellPresence, id, data), base::now()));
}

// ---- the turn

bool Registry::turn() {
  mailroom_.turn();
  more_ = common_.hub.read();
  if (common_.hub.take_orders_lost()) send_all_away();
  more_ = common_.hub.flush() || more_ || mailroom_.has_more();
  return more_;
}

void Registry::send_all_away() {
  // Some of them may have been told to leave, or told something, and nobody knows which.
  if (common_.clients.empty()) return;
  g_orders_lost.add();
  base::log::warning(
      "this worker was stopped for so long that the event log has passed over what its clients were told: "
      "all are sent away, and come back");
  for (const auto& [serial, client] : common_.clients) client->send_away();
}

bool Registry::may_sleep() noexcept {
  if (more_) return false;
  log_.announce_sleep(reader_);
  if (!common_.hub.behind()) return true;
  log_.awake(reader_);
  return false;
}

void Registry::tick(base::Instant now) {
  common_.calendar.tick(now, [](Client& client, std::uint32_t second) { return client.tick(second); });
  const std::uint32_t second = common_.calendar.second();
  away_.for_each([&](Client& client) { static_cast<void>(client.tick(second)); });
}

std::size_t Registry::drain(base::Duration elapsed, base::Duration within) {
  // The last ones are to be told too, before what is left is cut.
  const base::Duration spread = std::min(common_.config.drain_spread, within * 3 / 4);
  std::size_t left = common_.calendar.size();
  to_drain_ = std::max(to_drain_, left);
  const double share = spread <= base::Duration::zero()
                           ? 1.0
                           : std::min(1.0, static_cast<double>(elapsed.count()) / static_cast<double>(spread.count()));
  // Rounded up: the first leaves at once, and one alone does not wait for nobody.
  const auto gone_by_now = static_cast<std::size_t>(share * static_cast<double>(to_drain_)) + 1;
  std::size_t to_go = gone_by_now > to_drain_ - left ? gone_by_now - (to_drain_ - left) : 0;
  for (; to_go > 0 && left > 0; --to_go, --left) {
    Client& client = *common_.calendar.pop();
    client.send_away();
    away_.push_back(client);
  }
  return left;
}

}  // namespace m0::held
