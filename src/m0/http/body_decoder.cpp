#include "m0/http/body_decoder.hpp"

#include <algorithm>

#include "m0/http/scan.hpp"

namespace m0::http {
namespace {

constexpr std::uint8_t kMaxSizeDigits = 16;  // of a chunk size: what fits into 64 bits

constexpr int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::unexpected<Refusal> bad(const char* why) noexcept { return std::unexpected(Refusal{400, why}); }

}  // namespace

void BodyDecoder::start_length(std::uint64_t length) noexcept {
  left_ = length;
  state_ = length == 0 ? State::Done : State::Length;
}

void BodyDecoder::start_chunked() noexcept {
  left_ = decoded_ = 0;
  line_ = excess_ = 0;
  digits_ = 0;
  state_ = State::Size;
}

std::expected<BodyDecoder::Piece, Refusal> BodyDecoder::decode(const Limits& limits, std::string_view bytes,
                                                               RequestHead& scratch) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ != State::Done) {
    const std::string_view rest = bytes.substr(used);
    if (state_ != State::Length && state_ != State::Data) {
      const auto taken = framing(limits, rest, scratch);
      if (!taken) return std::unexpected(taken.error());
      used += *taken;
      continue;
    }
    const std::string_view data = rest.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, rest.size())));
    left_ -= data.size();
    if (left_ == 0) state_ = state_ == State::Length ? State::Done : State::DataCr;
    return Piece{used + data.size(), data};
  }
  return Piece{used, {}};
}

// chunk-size [ chunk-ext ] CRLF, and the CRLF behind the data (RFC 9112 7.1). What 7.1.1 calls bad whitespace before an
// extension is refused with all other spaces around a size: parsers that differ there are smuggled past.
std::expected<std::size_t, Refusal> BodyDecoder::framing(const Limits& limits, std::string_view bytes,
                                                         RequestHead& scratch) {
  const char c = bytes.front();
  switch (state_) {
    case State::Size:
      if (const int digit = hex_digit(c); digit >= 0) {
        if (++digits_ > kMaxSizeDigits) return bad("chunk size too long");
        left_ = left_ << 4 | static_cast<std::uint64_t>(digit);
        return 1;
      }
      if (digits_ == 0 || (c != '\r' && c != ';')) return bad("malformed chunk size");
      state_ = c == '\r' ? State::SizeEnd : State::Extension;
      return 1;
    case State::Extension: return extension(limits, bytes);
    case State::SizeEnd:
      if (c != '\n') return bad("bare CR in a chunk-size line");
      if (const auto ended = end_size_line(limits); !ended) return std::unexpected(ended.error());
      return 1;
    case State::DataCr:
      if (c != '\r') return bad("chunk data longer than its size");
      state_ = State::DataLf;
      return 1;
    case State::DataLf:
      if (c != '\n') return bad("chunk data longer than its size");
      state_ = State::Size;
      return 1;
    case State::Trailers: return trailers(limits, bytes, scratch);
    case State::Done:
    case State::Length:
    case State::Data: break;
  }
  return 0;
}

std::expected<std::size_t, Refusal> BodyDecoder::extension(const Limits& limits, std::string_view bytes) noexcept {
  const std::size_t room = limits.max_line - std::min<std::size_t>(line_, limits.max_line);
  const std::string_view window = bytes.substr(0, room);
  const char* stop = scan_value(window.data(), window.data() + window.size());
  const auto run = static_cast<std::size_t>(stop - window.data());
  line_ += static_cast<std::uint32_t>(run);
  if (run == bytes.size()) return run;
  if (bytes[run] == '\r') {
    state_ = State::SizeEnd;
    return run + 1;
  }
  if (run == room) return bad("chunk extension too long");
  return bad("control character in a chunk extension");
}

std::expected<void, Refusal> BodyDecoder::end_size_line(const Limits& limits) noexcept {
  if (left_ > limits.max_body - std::min(decoded_, limits.max_body)) {
    return std::unexpected(Refusal{413, "body too large"});
  }
  decoded_ += left_;
  // Extensions are not data, so max_body does not bound them: tiny chunks with long ones would be read for ever. Signed
  // uploads send some eighty bytes with each chunk of many KiB, so data pays for them.
  const std::uint64_t excess = std::uint64_t{excess_} + line_;
  excess_ = static_cast<std::uint32_t>(excess - std::min(excess, left_));
  if (excess_ > limits.max_head) return bad("more chunk extensions than data");
  state_ = left_ == 0 ? State::Trailers : State::Data;
  line_ = 0;
  digits_ = 0;
  return {};
}

std::expected<std::size_t, Refusal> BodyDecoder::trailers(const Limits& limits, std::string_view bytes,
                                                          RequestHead& scratch) {
  if (!trailers_) {
    HeadParser parser(HeadParser::Section::Trailers);
    const auto size = parser.parse(limits, bytes, scratch);
    if (!size) return std::unexpected(size.error());
    if (*size == 0) {
      trailers_ = std::make_unique<HeadBuffer>(parser, bytes, scratch);
      return bytes.size();
    }
    state_ = State::Done;
    return *size;
  }
  const auto fed = trailers_->feed(limits, bytes);
  if (!fed) return std::unexpected(fed.error());
  if (fed->complete) {
    trailers_.reset();
    state_ = State::Done;
  }
  return fed->used;
}

}  // namespace m0::http
