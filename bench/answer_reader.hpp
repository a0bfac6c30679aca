#pragma once
// Reads the answers a benchmark gets: status, length, whether the connection ends. Not a general client: a view that is
// measured declares its length, so anything else is an answer this reader calls bad.

#include <cstdint>
#include <string>
#include <string_view>

namespace m0::bench {

/// One answer after another of one connection. One thread.
class AnswerReader {
 public:
  enum class State : std::uint8_t { Reading, Complete, Bad };

  /// Takes all of `bytes`. Bytes after a complete answer are bad: nothing was asked that they could answer.
  State feed(std::string_view bytes);

  /// Ready for the next answer.
  void reset();

  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] bool closes() const noexcept { return closes_; }
  /// Whether a byte of the answer has come.
  [[nodiscard]] bool begun() const noexcept { return in_body_ || !head_.empty(); }

 private:
  bool parse_head(std::string_view head);
  bool parse_field(std::string_view name, std::string_view value);
  State take_body(std::size_t bytes);

  std::string head_;
  std::uint64_t body_left_ = 0;
  int status_ = 0;
  bool has_length_ = false;
  bool closes_ = false;
  bool in_body_ = false;
};

}  // namespace m0::bench
