#include "m0/process/control_protocol.hpp"

namespace m0::process {
namespace {

constexpr std::size_t kLength = 4;

/// Of the four bytes that `bytes` begins with.
std::size_t read_length(std::string_view bytes) noexcept {
  std::size_t length = 0;
  for (const char byte : bytes.substr(0, kLength)) length = (length << 8U) | static_cast<unsigned char>(byte);
  return length;
}

void append_length(std::string& out, std::size_t length) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(length >> shift & 0xffU);
}

/// Nothing where the lengths do not come out even.
std::optional<ControlFields> split(std::string_view body) {
  ControlFields fields;
  while (!body.empty()) {
    if (body.size() < kLength || fields.size() == kMostControlFields) return std::nullopt;
    const std::size_t length = read_length(body);
    body.remove_prefix(kLength);
    if (length > body.size()) return std::nullopt;
    fields.emplace_back(body.substr(0, length));
    body.remove_prefix(length);
  }
  return fields.empty() ? std::nullopt : std::optional(std::move(fields));
}

}  // namespace

std::string_view describe(FramingError error) noexcept {
  switch (error) {
    case FramingError::TooLarge: return "the request is larger than the largest event (see --max-event)";
    case FramingError::Malformed: return "the request is malformed";
  }
  return "unknown";
}

void MessageReader::feed(std::string_view bytes) {
  bytes_.erase(0, taken_);
  taken_ = 0;
  bytes_ += bytes;
}

std::expected<std::optional<ControlFields>, FramingError> MessageReader::next() {
  if (unread().size() < kLength) return std::nullopt;
  const std::size_t length = read_length(unread());
  if (length > largest_) return std::unexpected(FramingError::TooLarge);
  if (unread().size() - kLength < length) return std::nullopt;
  auto fields = split(unread().substr(kLength, length));
  if (!fields) return std::unexpected(FramingError::Malformed);
  taken_ += kLength + length;
  if (unread().empty()) {  // a connection that waits for its next request keeps no memory of the last
    bytes_ = std::string();
    taken_ = 0;
  }
  return fields;
}

std::string encode_message(std::span<const std::string_view> fields) {
  std::size_t length = 0;
  for (const std::string_view field : fields) length += kLength + field.size();
  std::string out;
  out.reserve(kLength + length);
  append_length(out, length);
  for (const std::string_view field : fields) {
    append_length(out, field.size());
    out += field;
  }
  return out;
}

}  // namespace m0::process
