#include "m0/held/event_stream_encoding.hpp"

#include <fmt/format.h>

#include "m0/http/response_writer.hpp"

namespace m0::held {
namespace {

using pubsub::EventId;

/// One line of data for each line of `data`, however its lines end.
void append_data(std::string& block, std::string_view data) {
  for (;;) {
    const std::size_t end = data.find_first_of("\r\n");
    block += "data: ";
    block += data.substr(0, end);
    block += '\n';
    if (end == std::string_view::npos) return;
    const bool both = data[end] == '\r' && end + 1 < data.size() && data[end + 1] == '\n';
    data.remove_prefix(end + (both ? 2 : 1));
  }
}

void append_id_line(std::string& block, const EventId& id) {
  block += "id: ";
  append_id(block, id);
  block += '\n';
}

}  // namespace

const EventStreamEncoding& EventStreamEncoding::of(Framing framing) noexcept {
  static const EventStreamEncoding plain(Framing::Plain);
  static const EventStreamEncoding chunked(Framing::Chunked);
  return framing == Framing::Plain ? plain : chunked;
}

void EventStreamEncoding::append_raw(std::string& out, std::string_view text) const {
  if (framing_ == Framing::Plain) {
    out += text;
  } else {
    http::append_chunk(text, out);
  }
}

void EventStreamEncoding::append(std::string& out, const EventId& id, const pubsub::Record& record) const {
  std::string block;
  block.reserve(record.data().size() + 64);
  append_id_line(block, id);
  if (!record.name().empty()) {
    block += "event: ";
    block += record.name();
    block += '\n';
  }
  append_data(block, record.data());
  block += '\n';
  append_raw(out, block);
}

bool EventStreamEncoding::append_gap(std::string& out, const EventId& from, const EventId& to) const {
  std::string block;
  append_id_line(block, to);
  block += "event: m0-gap\ndata: {\"from\":\"";
  append_id(block, from);
  block += "\",\"to\":\"";
  append_id(block, to);
  block += "\"}\n\n";
  append_raw(out, block);
  return true;
}

void EventStreamEncoding::append_cursor(std::string& out, const EventId& at, unsigned retry_ms) const {
  std::string block = fmt::format(":\nretry: {}\n", retry_ms);
  append_id_line(block, at);
  block += '\n';
  append_raw(out, block);
}

void EventStreamEncoding::append_message(std::string& out, std::string_view data) const {
  std::string block;
  append_data(block, data);
  block += '\n';
  append_raw(out, block);
}

void EventStreamEncoding::append_end(std::string& out, const EventId& at) const {
  std::string block = ":\nid: ";
  pubsub::append_end_id(block, at);
  block += "\n\n";
  append_raw(out, block);
  if (framing_ == Framing::Chunked) out += "0\r\n\r\n";
}

void EventStreamEncoding::append_retry(std::string& out, unsigned retry_ms) const {
  append_raw(out, fmt::format("retry: {}\n\n", retry_ms));
}

}  // namespace m0::held
