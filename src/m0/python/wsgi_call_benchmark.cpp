// What a WSGI call costs beyond the application: the difference between a whole call and the application alone, which
// gets an environ made before and a start_response that does nothing.

#include <Python.h>

#include <benchmark/benchmark.h>

#include <string_view>
#include <utility>
#include <vector>

#include "m0/handler/exchange.hpp"
#include "m0/python/interpreter.hpp"
#include "m0/python/text.hpp"
#include "m0/python/wsgi_call.hpp"

namespace m0::python {
namespace {

constexpr const char* kApplication = R"(
def app(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain'), ('Content-Length', '13')])
    return [b'Hello, world!']
)";

class QuietLoop final : public LoopNotifier {
 public:
  void notify(handler::Exchange&) noexcept override {}
};

const Interpreter& interpreter() {
  static const Interpreter* const made = new Interpreter({.multiprocess = false, .multithread = true, .worker = 0});
  return *made;
}

PyObject* application() {
  static PyObject* const app = [] {
    PyObject* const names = PyDict_New();
    const PyRef code(Py_CompileString(kApplication, "app", Py_file_input));
    const PyRef done(PyEval_EvalCode(code.get(), names, names));
    return Py_NewRef(PyDict_GetItemString(names, "app"));
  }();
  return app;
}

using Fields = std::vector<http::Field>;

Fields tool_fields() { return {{"Host", "127.0.0.1:8000"}}; }

Fields browser_fields() {
  return {{"Host", "www.example.org"},
          {"User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"},
          {"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"},
          {"Accept-Language", "en-US,en;q=0.5"},
          {"Accept-Encoding", "gzip, deflate, br, zstd"},
          {"Referer", "https://www.example.org/somewhere/else?page=3"},
          {"Cookie", "csrftoken=vlQyqJ8bxLVOmqSCFCyD8tHmd9k0TOt4; sessionid=6xq2b0x9gq0rj2b9r4hlyc8m3b8k0j5f"},
          {"Upgrade-Insecure-Requests", "1"},
          {"Sec-Fetch-Dest", "document"},
          {"Sec-Fetch-Mode", "navigate"},
          {"Sec-Fetch-Site", "same-origin"},
          {"Sec-Fetch-User", "?1"},
          {"Priority", "u=0, i"},
          {"X-Of-Its-Own", "value"}};
}

void fill(handler::Exchange& exchange, const Fields& fields, const handler::ListenerInfo& listener) {
  exchange.request.method = "GET";
  exchange.request.target = exchange.request.path = "/hello";
  exchange.request.query = {};
  exchange.request.fields = fields;
  exchange.listener = &listener;
  exchange.peer.family = handler::PeerAddress::Family::V4;
  exchange.peer.bytes = {127, 0, 0, 1};
}

void whole_call(benchmark::State& state, const Fields& fields) {
  const handler::ListenerInfo listener{"127.0.0.1", "8000", false};
  handler::BodyBudget budget;
  handler::Exchange exchange(budget);
  fill(exchange, fields, listener);
  QuietLoop loop;
  PyObject* const applications[] = {application()};
  WsgiCaller caller(interpreter(), applications, loop);
  std::uint16_t port = 40000;
  for ([[maybe_unused]] auto _ : state) {
    exchange.response.clear();
    exchange.peer.port = port;
    port = static_cast<std::uint16_t>(40000 + (port + 1) % 64);  // 64 kept connections
    caller.run(exchange);
  }
  if (exchange.response.head.status != 200) state.SkipWithError("the application failed");
}

PyObject* do_nothing(PyObject*, PyObject* const*, Py_ssize_t) noexcept { return Py_NewRef(Py_None); }

void application_alone(benchmark::State& state) {
  static PyMethodDef method = {"start_response",
                               reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(do_nothing)), METH_FASTCALL,
                               nullptr};
  const PyRef start_response(PyCFunction_NewEx(&method, nullptr, nullptr));
  const PyRef environ(PyDict_New());
  for ([[maybe_unused]] auto _ : state) {
    const PyRef result(PyObject_CallFunctionObjArgs(application(), environ.get(), start_response.get(), nullptr));
    benchmark::DoNotOptimize(result.get());
  }
}

void environ_only(benchmark::State& state, const Fields& fields) {
  const handler::ListenerInfo listener{"127.0.0.1", "8000", false};
  handler::BodyBudget budget;
  handler::Exchange exchange(budget);
  fill(exchange, fields, listener);
  EnvironBuilder builder(interpreter());
  const PyRef disconnected = PyRef::borrow(Py_None);
  static_cast<void>(builder.use_disconnected(disconnected.get()));
  for ([[maybe_unused]] auto _ : state) {
    const PyRef environ = builder.build(exchange);
    benchmark::DoNotOptimize(environ.get());
  }
}

BENCHMARK(application_alone);
BENCHMARK_CAPTURE(whole_call, tool, tool_fields());
BENCHMARK_CAPTURE(whole_call, browser, browser_fields());
BENCHMARK_CAPTURE(environ_only, tool, tool_fields());
BENCHMARK_CAPTURE(environ_only, browser, browser_fields());

}  // namespace
}  // namespace m0::python

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Py_InitializeEx(0);
  PyList_Insert(PySys_GetObject("path"), 0, PyUnicode_FromString(M0_PACKAGE_PARENT));
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
