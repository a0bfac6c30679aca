#include "m0/held/client.hpp"

#include <algorithm>
#include <utility>

#include "m0/base/bytes.hpp"
#include "m0/base/metric.hpp"
#include "m0/held/mailroom.hpp"
#include "m0/websocket/close_code.hpp"

namespace m0::held {
namespace {

using base::metric::Counter;

const Counter g_keep_alives("m0_keep_alives_total", "Signs of life that were sent to held clients");
const Counter g_silent("m0_silent_clients_total", "Held clients ended because they gave no sign of life");
const Counter g_overfull("m0_overfull_clients_total",
                         "Held clients cut because they did not take what was sent to them alone");

/// As an element of M0-Channel, of which percent-decoding makes a name again.
void append_channel(std::string& out, std::string_view name) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : name) {
    if (c > ' ' && c < '\x7f' && c != '%' && c != ',') {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.append({'%', kDigits[byte >> 4U], kDigits[byte & 15U]});
  }
}

}  // namespace

Client::Client(Common& common, Wire& wire, const pubsub::Encoding& encoding, const Times& times, std::uint64_t serial)
    : common_(common),
      wire_(wire),
      encoding_(encoding),
      serial_(serial),
      times_(times),
      close_code_(websocket::close_code::kAbnormal) {
  common_.clients.emplace(serial, this);
}

Client::~Client() {
  if (inbox_ != nullptr) inbox_->client_gone(close_code_);
  if (joined()) common_.hub.leave(*this);
  common_.clients.erase(serial_);
}

void Client::open(std::string first, std::span<const std::string_view> channels, std::uint64_t cursor) {
  own_ = std::move(first);
  common_.hub.join(*this, encoding_, channels, cursor);
  static_cast<void>(flush_own());
}

void Client::open_inbox(Mailroom& room, const handler::Exchange& handshake, const handler::Hold& hold) {
  inbox_ = &room.open(*this, handshake, hold);
  if (hold.wants_open) inbox_->add(Inbox::Kind::Open, {});
}

// ---- what it is sent

bool Client::flush_own() noexcept {
  if (own_.empty()) return !full_;
  const pubsub::Taken taken = wire_.write(own_);
  if (taken.gone) {
    end(Ending::Cut);
    return false;
  }
  full_ = taken.bytes < own_.size();
  if (full_) {
    own_.erase(0, taken.bytes);
    return false;
  }
  base::free_room(own_);  // thousands of these wait
  if (owes_answer_) {
    owes_answer_ = false;
    inbox_->answer_taken();
  }
  if (!leaving_) return true;
  end(Ending::Orderly);
  return false;
}

pubsub::Taken Client::take(std::string_view bytes) noexcept {
  if (over_) return {0, true};
  if (!mid_frame() && !flush_own()) return {0, over_};
  const pubsub::Taken taken = wire_.write(bytes);
  if (taken.gone) end(Ending::Cut);
  full_ = taken.bytes < bytes.size();
  return taken;
}

void Client::writable() noexcept {
  full_ = false;
  if (over_ || (!mid_frame() && !flush_own())) return;
  // Also for the rest of a frame that one which leaves has a part of.
  if (!leaving_ || mid_frame()) common_.hub.writable(*this);
}

void Client::interrupted() noexcept {
  if (over_) return;
  if (leaving_) common_.hub.silence(*this);
  settle_channels();
  if (!full_) static_cast<void>(flush_own());
}

void Client::say(std::string_view bytes) noexcept {
  if (over_ || leaving_) return;
  // One frame fits, whatever its size: --max-message may be more than kMostOwn.
  if (own_.size() >= kMostLight && own_.size() + bytes.size() > kMostOwn) {
    g_overfull.add();
    end(Ending::Cut);
    return;
  }
  own_ += bytes;
  if (mid_frame()) {
    interrupt();
  } else if (!full_) {
    static_cast<void>(flush_own());
  }
}

void Client::say_lightly(std::string_view bytes) noexcept {
  if (own_.size() < kMostLight) say(bytes);
}

void Client::say_last(std::string_view bytes) noexcept {
  if (over_ || leaving_) return;
  leaving_ = true;
  own_ += bytes;
  times_.leave_at = common_.calendar.second() + kFarewellTime;
  common_.calendar.schedule(*this);
  if (mid_frame()) {
    interrupt();
    return;
  }
  common_.hub.silence(*this);
  if (!full_) static_cast<void>(flush_own());
}

void Client::end(Ending how) noexcept {
  if (over_) return;
  over_ = true;
  wire_.end(how);
}

// ---- when

std::uint32_t Client::due() const noexcept {
  return times_.leave_at == 0 ? times_.keep_alive_at : std::min(times_.keep_alive_at, times_.leave_at);
}

bool Client::tick(std::uint32_t now) {
  if (over_) return false;
  if (times_.leave_at != 0 && now >= times_.leave_at) {
    if (leaving_) {
      end(Ending::Cut);
      return false;
    }
    times_.leave_at = 0;
    send_away();
    return !over_;
  }
  if (now < times_.keep_alive_at) return true;
  times_.keep_alive_at = now + times_.keep_alive_every;
  // A client that does not read gets none: its kernel tells whether it lives.
  if (leaving_ || !resting()) return true;
  if (!sign_of_life(own_)) {
    g_silent.add();
    end(Ending::Cut);
    return false;
  }
  g_keep_alives.add();
  static_cast<void>(flush_own());
  return !over_;
}

void Client::send_away() noexcept {
  if (over_ || leaving_) return;
  goes_when_idle_ = inbox_ != nullptr && inbox_->busy();
  if (!goes_when_idle_) leave_for_now();
}

// ---- what the application does with it

Client::Waiting& Client::waiting() {
  if (!waiting_) waiting_ = std::make_unique<Waiting>();
  return *waiting_;
}

void Client::give(Order order) noexcept {
  if (over_ || leaving_) return;
  Waiting& now = waiting();
  now.order_bytes += sizeof(Order) + order.data.size();
  if (now.order_bytes > kMostOwn) {
    g_overfull.add();
    end(Ending::Cut);
    return;
  }
  now.orders.push_back(std::move(order));
  common_.hub.set_barrier(*this, now.orders.front().seq);
}

void Client::at_barrier() noexcept {
  if (!waiting_ || over_ || leaving_) return;
  const Order order = std::move(waiting_->orders.front());
  waiting_->orders.pop_front();
  waiting_->order_bytes -= sizeof(Order) + order.data.size();
  if (!waiting_->orders.empty()) {
    common_.hub.set_barrier(*this, waiting_->orders.front().seq);
  } else if (waiting_->channels.empty()) {
    waiting_.reset();
  }
  carry_out(order);
}

void Client::carry_out(const Order& order) noexcept {
  if (order.verb == pubsub::Verb::Send) {
    std::string bytes;
    append_message(bytes, order.data, order.binary);
    say(bytes);
  } else if (const auto farewell = pubsub::read_farewell(order.data)) {
    dismiss(*farewell);
  }
}

// ---- what its views answer

bool Client::take_answer(const Answer& answer) {
  if (over_ || leaving_) return true;
  if (answer.frame) {
    std::string bytes;
    append_message(bytes, *answer.frame, answer.binary);
    say(bytes);
    // Who does not read is not heard either: else its answers would pile up here.
    owes_answer_ = own_.size() > kMostLight;
  }
  if (answer.close) {
    dismiss({.reconnect = false, .code = answer.close->code, .reason = answer.close->reason});
    return true;
  }
  if (answer.channels) {
    Waiting& now = waiting();
    now.channels = *answer.channels;
    now.position = answer.position;
    if (mid_frame()) {
      interrupt();
      return false;
    }
    settle_channels();
    return !owes_answer_;
  }
  answered();
  return !owes_answer_;
}

void Client::settle_channels() noexcept {
  if (!waiting_ || waiting_->channels.empty() || over_) return;
  const std::vector<std::string> channels = std::exchange(waiting_->channels, {});
  const std::vector<std::string_view> names(channels.begin(), channels.end());
  common_.hub.replace(*this, names, waiting_->position);
  if (waiting_->orders.empty()) waiting_.reset();
  answered();
  if (!owes_answer_) inbox_->answer_taken();
}

void Client::answered() noexcept {
  if (goes_when_idle_ && !inbox_->busy()) leave_for_now();
}

void Client::append_channels(std::string& out) const {
  bool first = true;
  common_.hub.for_each_channel(*this, [&](std::string_view name) {
    if (!std::exchange(first, false)) out += ", ";
    append_channel(out, name);
  });
}

}  // namespace m0::held
