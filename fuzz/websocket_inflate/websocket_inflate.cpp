// A compressed payload at once and in pieces: the same outcome, and never more than its limit. And any message there
// and back, with every window.

#include <algorithm>
#include <cstdint>
#include <expected>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "m0/base/check.hpp"
#include "m0/websocket/deflate.hpp"

#include "input.hpp"

namespace {

using namespace m0::websocket;

struct Outcome {
  std::string message;
  std::optional<InflateError> error;
};

template <class NextSize>
Outcome inflate(Inflater& inflater, std::string_view payload, std::size_t limit, NextSize next_size) {
  Outcome outcome;
  const auto take = [&](const std::expected<void, InflateError>& done) {
    if (!done) outcome.error = done.error();
    M0_CHECK(outcome.message.size() <= limit);
    // A string that leaves its own room takes at least twice of it.
    M0_CHECK(outcome.message.capacity() <= std::max(limit, 2 * std::string().capacity()));
    return done.has_value();
  };
  inflater.start(limit);
  while (!payload.empty()) {
    const std::string piece(payload.substr(0, next_size(payload.size())));  // its end is watched by the sanitizer
    if (!take(inflater.feed(piece, outcome.message))) return outcome;
    payload.remove_prefix(piece.size());
  }
  take(inflater.finish(outcome.message));
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Inflater inflater;  // shared by all messages, as in a loop
  m0::fuzz::Input input(data, size);
  const std::uint8_t choice = input.byte();
  const std::size_t limit = choice < 128 ? 256U << 10U : choice;
  std::minstd_rand random(1U + input.byte());
  const unsigned longest = 1U + input.byte() % 64;
  const auto all = [](std::size_t left) { return left; };
  const auto some = [&](std::size_t) { return 1 + random() % longest; };

  const Outcome whole = inflate(inflater, input.rest(), limit, all);
  const Outcome pieces = inflate(inflater, input.rest(), limit, some);
  M0_CHECK(whole.error == pieces.error);
  if (!whole.error) M0_CHECK(whole.message == pieces.message);

  Deflater deflater(9 + choice % 7, 1 + choice % 9);
  std::string payload;
  deflater.compress(input.rest(), payload);
  const Outcome back = inflate(inflater, payload, input.rest().size(), some);
  M0_CHECK(!back.error && back.message == input.rest());
  if (!input.rest().empty()) {
    const Outcome bounded = inflate(inflater, payload, input.rest().size() - 1, some);
    M0_CHECK(bounded.error == InflateError::TooBig);
  }
  return 0;
}
