#include "answer_reader.hpp"

#include <algorithm>
#include <charconv>

namespace m0::bench {
namespace {

constexpr std::size_t kMaxHead = 16 * 1024;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

void AnswerReader::reset() {
  head_.clear();
  body_left_ = 0;
  status_ = 0;
  has_length_ = closes_ = in_body_ = false;
}

AnswerReader::State AnswerReader::feed(std::string_view bytes) {
  if (in_body_) return take_body(bytes.size());
  head_.append(bytes);
  const std::size_t end = head_.find(kHeadEnd);
  if (end == std::string::npos) return head_.size() > kMaxHead ? State::Bad : State::Reading;
  if (!parse_head(std::string_view(head_).substr(0, end + 2))) return State::Bad;
  in_body_ = true;
  return take_body(head_.size() - end - kHeadEnd.size());
}

AnswerReader::State AnswerReader::take_body(std::size_t bytes) {
  if (bytes > body_left_) return State::Bad;
  body_left_ -= bytes;
  return body_left_ == 0 ? State::Complete : State::Reading;
}

bool AnswerReader::parse_head(std::string_view head) {
  // "HTTP/1.1 200 OK": the version is 8 bytes, the code 3 (RFC 9112 section 4).
  if (!head.starts_with("HTTP/1.") || head.size() < 12 || !parse_number(head.substr(9, 3), status_)) return false;
  closes_ = head[7] == '0';
  head.remove_prefix(head.find("\r\n") + 2);
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(line.size() + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (!parse_field(line.substr(0, colon), value)) return false;
  }
  return has_length_;
}

bool AnswerReader::parse_field(std::string_view name, std::string_view value) {
  if (equals_ignoring_case(name, "content-length")) {
    has_length_ = true;
    return parse_number(value, body_left_);
  }
  if (equals_ignoring_case(name, "connection")) closes_ = !equals_ignoring_case(value, "keep-alive");
  return true;
}

}  // namespace m0::bench
