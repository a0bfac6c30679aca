#include <benchmark/benchmark.h>

#include <string>

#include "m0/websocket/deflate.hpp"
#include "m0/websocket/frame.hpp"
#include "m0/websocket/session.hpp"
#include "m0/websocket/utf8.hpp"

namespace {

using namespace m0::websocket;

constexpr Mask kMask{0x37, 0xfa, 0x21, 0x3d};

void count_bytes(benchmark::State& state, std::size_t size) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

void unmask_words(benchmark::State& state) {
  std::string bytes(static_cast<std::size_t>(state.range(0)), 'a');
  for (auto _ : state) {
    unmask(bytes, kMask, 1);
    benchmark::ClobberMemory();
  }
  count_bytes(state, bytes.size());
}
BENCHMARK(unmask_words)->Arg(20)->Arg(1000)->Arg(60000);

// What the specification says, for comparison.
void unmask_bytes(benchmark::State& state) {
  std::string bytes(static_cast<std::size_t>(state.range(0)), 'a');
  for (auto _ : state) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(bytes[i] ^ kMask[(1 + i) % 4]);
    benchmark::ClobberMemory();
  }
  count_bytes(state, bytes.size());
}
BENCHMARK(unmask_bytes)->Arg(20)->Arg(1000)->Arg(60000);

std::string text_of(std::string_view part, std::int64_t size) {
  std::string text;
  while (text.size() < static_cast<std::size_t>(size)) text += part;
  return text;
}

void validate(benchmark::State& state, std::string_view part) {
  const std::string text = text_of(part, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(is_utf8(text));
  count_bytes(state, text.size());
}
BENCHMARK_CAPTURE(validate, ascii, "plain ASCII text ")->Arg(20)->Arg(60000);
BENCHMARK_CAPTURE(validate, german, "Übergrößenträger ")->Arg(60000);
BENCHMARK_CAPTURE(validate, chinese, "漢字")->Arg(60000);

class Sink final : public SessionEvents {
 public:
  void on_message(Opcode /*kind*/, std::string_view payload) override { benchmark::DoNotOptimize(payload.data()); }
  void on_ping(std::string_view /*payload*/) override {}
  void on_pong(std::string_view /*payload*/) override {}
  void on_close(std::uint16_t /*code*/, std::string_view /*reason*/) override {}
  void on_violation(std::uint16_t code, const char* why) override {
    benchmark::DoNotOptimize(code);
    benchmark::DoNotOptimize(why);
  }
};

/// One message a round, whole. Unmasking overwrites it, so that each round reads a copy.
void receive(benchmark::State& state, bool compressed) {
  SessionContext context;
  Session session(context, compressed);
  Sink sink;
  std::string payload = text_of("{\"id\":17,\"text\":\"hello\"} ", state.range(0));
  if (compressed) {
    std::string squeezed;
    Deflater().compress(payload, squeezed);
    payload = squeezed;
  }
  std::string frame;
  append_client_frame(frame, {.opcode = Opcode::Text, .compressed = compressed}, kMask, payload);
  std::string scratch;
  for (auto _ : state) {
    scratch = frame;
    benchmark::DoNotOptimize(session.receive(scratch, sink));
  }
  if (session.over()) state.SkipWithError("refused");
}
BENCHMARK_CAPTURE(receive, plain, false)->Arg(20)->Arg(1000)->Arg(60000);
BENCHMARK_CAPTURE(receive, compressed, true)->Arg(20)->Arg(1000)->Arg(60000);

void compress(benchmark::State& state) {
  Deflater deflater(15, static_cast<int>(state.range(1)));
  const std::string message = text_of("{\"id\":17,\"text\":\"hello\"} ", state.range(0));
  std::string out;
  for (auto _ : state) {
    out.clear();
    deflater.compress(message, out);
    benchmark::DoNotOptimize(out.data());
  }
  count_bytes(state, message.size());
}
BENCHMARK(compress)->Args({100, 1})->Args({100, 6})->Args({1000, 6});

}  // namespace
