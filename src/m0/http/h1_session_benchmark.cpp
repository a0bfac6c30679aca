#include <benchmark/benchmark.h>

#include <string>

#include "m0/http/date.hpp"
#include "m0/http/h1_session.hpp"

namespace {

using namespace m0::http;

struct Ignore final : SessionEvents {
  void on_head(StreamId /*stream*/, const RequestHead& head) override { benchmark::DoNotOptimize(head.fields.data()); }
  void on_body(StreamId /*stream*/, std::string_view bytes) override { benchmark::DoNotOptimize(bytes.data()); }
  void on_request_end(StreamId /*stream*/) override {}
  void on_protocol_error(StreamId /*stream*/, int /*status*/, const char* /*why*/) override {}
};

ResponseHead hello_head() {
  ResponseHead head;
  head.fields.add("Content-Type", "text/plain; charset=utf-8");
  head.fields.add("Content-Length", "13");
  return head;
}

// What a loop does for a hello request apart from system calls: read, answer, read the next.
void hello(benchmark::State& state) {
  const std::string request = "GET /hello HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n\r\n";
  const std::string date = imf_fixdate(784111777);
  const AnswerContext context = {.date = date, .server = "m0serve"};
  const ResponseHead head = hello_head();
  H1Context shared;
  H1Session session(shared);
  Ignore events;
  std::string out;
  for (auto _ : state) {
    session.receive(request, events);
    out.clear();
    session.begin_answer(1, head, 13, context, false, out);
    session.append_body(1, "Hello, World!", out);
    session.end_answer(1, out);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(hello);

void begin_answer(benchmark::State& state) {
  const std::string date = imf_fixdate(784111777);
  const AnswerContext context = {.date = date, .server = "m0serve"};
  ResponseHead head = hello_head();
  for (int i = 0; i < state.range(0); ++i) head.fields.add("X-Frame-Options", "DENY");
  std::string out;
  for (auto _ : state) {
    out.clear();
    write_head(head, 13, {}, context, false, out);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(begin_answer)->Arg(0)->Arg(8);

void upload(benchmark::State& state) {
  const std::string chunk(64 * 1024, 'x');
  std::string body;
  for (int i = 0; i < 64; ++i) append_chunk(chunk, body);
  body += "0\r\n\r\n";
  const std::string request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
  H1Context shared;
  H1Session session(shared);
  Ignore events;
  std::string out;
  for (auto _ : state) {
    session.receive(request, events);
    out.clear();
    session.begin_answer(1, {}, 0, {}, false, out);
    session.end_answer(1, out);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(request.size()));
}
BENCHMARK(upload);

}  // namespace
