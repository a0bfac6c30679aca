// A chunked body decoded whole, decoded byte by byte, and read again by a slow decoder that knows nothing of states.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include "m0/base/check.hpp"
#include "m0/http/body_decoder.hpp"

#include "input.hpp"

namespace {

using namespace m0::http;

struct Outcome {
  std::string data;
  std::size_t used = 0;
  bool done = false;
  std::optional<Refusal> refusal;
};

Outcome decode(const Limits& limits, std::string_view bytes, std::size_t step) {
  BodyDecoder decoder;
  decoder.start_chunked();
  RequestHead scratch;
  Outcome outcome;
  while (outcome.used < bytes.size() && !decoder.done()) {
    // A block of its own, so that a view kept too long or a read behind the end is seen.
    const std::string block(bytes.substr(outcome.used, step));
    std::size_t used = 0;
    while (used < block.size() && !decoder.done()) {
      const auto piece = decoder.decode(limits, std::string_view(block).substr(used), scratch);
      if (!piece) {
        outcome.refusal = piece.error();
        return outcome;
      }
      M0_CHECK(piece->used > 0 && piece->data.size() <= piece->used);
      outcome.data += piece->data;
      used += piece->used;
    }
    outcome.used += used;
  }
  outcome.done = decoder.done();
  return outcome;
}

/// Trusts `bytes` to be a valid chunked body: sizes and data only.
std::string read_again(std::string_view bytes) {
  std::string data;
  for (;;) {
    const std::size_t line = bytes.find("\r\n");
    M0_CHECK(line != std::string_view::npos);
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + line, size, 16);
    M0_CHECK(error == std::errc{} && (end == bytes.data() + line || *end == ';'));
    bytes.remove_prefix(line + 2);
    if (size == 0) break;
    M0_CHECK(bytes.size() >= size + 2 && bytes.substr(size, 2) == "\r\n");
    data += bytes.substr(0, size);
    bytes.remove_prefix(size + 2);
  }
  M0_CHECK(bytes == "\r\n" || bytes.find("\r\n\r\n") == bytes.size() - 4);
  return data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  m0::fuzz::Input input(data, size);
  const Limits limits = m0::fuzz::limits_from(input.byte());
  const std::string_view bytes = input.rest();

  const Outcome whole = decode(limits, bytes, bytes.size());
  const Outcome single = decode(limits, bytes, 1);
  M0_CHECK(whole.data == single.data && whole.done == single.done);
  M0_CHECK(whole.refusal.has_value() == single.refusal.has_value());
  if (whole.refusal) {
    M0_CHECK(whole.refusal->status == single.refusal->status && whole.refusal->why == single.refusal->why);
    return 0;
  }
  M0_CHECK(whole.used == single.used && whole.data.size() <= limits.max_body);
  if (whole.done) M0_CHECK(read_again(bytes.substr(0, whole.used)) == whole.data);
  return 0;
}
