#include "m0/python/harness_test.hpp"

#include <unistd.h>

#include "m0/base/bytes.hpp"
#include "m0/python/text.hpp"

namespace m0::python::testing {
namespace {

handler::Exchange* g_running = nullptr;

/// leave() in a script: the client of the request that runs goes away.
PyObject* leave(PyObject*, PyObject*) noexcept {
  g_running->abandon();
  return Py_NewRef(Py_None);
}
PyMethodDef g_leave = {"leave", leave, METH_NOARGS, nullptr};

std::vector<PyRef> only(PyRef application) {
  std::vector<PyRef> one;
  one.push_back(std::move(application));
  return one;
}

std::vector<PyObject*> borrowed(const std::vector<PyRef>& kept) {
  std::vector<PyObject*> objects;
  for (const PyRef& each : kept) objects.push_back(each.get());
  return objects;
}

}  // namespace

const Interpreter& interpreter() {
  static const Interpreter* const made = new Interpreter({.multiprocess = false, .multithread = true, .worker = 0});
  return *made;
}

Script::Script(std::string_view source) : names_(PyDict_New()) {
  PyRef name = latin1_text("script");
  PyDict_SetItemString(names_.get(), "__name__", name.get());
  const PyRef leave_function(PyCFunction_NewEx(&g_leave, nullptr, nullptr));
  PyDict_SetItemString(names_.get(), "leave", leave_function.get());
  const PyRef code(Py_CompileString(std::string(source).c_str(), "script", Py_file_input));
  const PyRef done(code ? PyEval_EvalCode(code.get(), names_.get(), names_.get()) : nullptr);
  if (!done) {
    PyErr_Print();
    ADD_FAILURE() << "the script failed";
  }
}

PyRef Script::get(const char* name) const {
  PyRef found = PyRef::borrow(PyDict_GetItemString(names_.get(), name));
  EXPECT_TRUE(found) << name;
  return found;
}

std::string Script::eval(const std::string& expression) const {
  const PyRef code(Py_CompileString(expression.c_str(), "expression", Py_eval_input));
  const PyRef value(code ? PyEval_EvalCode(code.get(), names_.get(), names_.get()) : nullptr);
  const PyRef text(value ? PyObject_Str(value.get()) : nullptr);
  const PyRef bytes(text ? PyUnicode_AsUTF8String(text.get()) : nullptr);
  if (!bytes) {
    PyErr_Print();
    ADD_FAILURE() << "cannot evaluate " << expression;
    return {};
  }
  return std::string(bytes_view(bytes.get()));
}

std::string Seen::field(std::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (base::iequals(key, name)) return value;
  }
  return "(none)";
}

Host::Host(PyRef application) : Host(only(std::move(application))) {}

Host::Host(std::vector<PyRef> applications)
    : kept_(std::move(applications)), applications_(borrowed(kept_)), caller_(interpreter(), applications_, *this) {
  peer.family = handler::PeerAddress::Family::V4;
  peer.bytes = {192, 0, 2, 7};
  peer.port = 40000;
}

Host::~Host() = default;

void Host::notify(handler::Exchange& exchange) noexcept {
  static_cast<void>(exchange.notify());
  ++notices_;
  if (on_notice) on_notice(exchange);
  if (!reads) return;
  static_cast<void>(exchange.take_notice());
  for (std::string_view bytes = exchange.window->readable(); !bytes.empty(); bytes = exchange.window->readable()) {
    streamed_.append(bytes);
    exchange.window->consume(bytes.size());
  }
}

Seen Host::ask(const Ask& ask) {
  handler::BodyBudget budget;
  handler::Exchange exchange(budget);
  http::RequestHead& head = exchange.request;
  head.method = ask.method;
  head.target = ask.target;
  head.version = ask.version;
  head.form = ask.form;
  head.authority = ask.authority;
  const std::string_view target = ask.target;
  const std::size_t question = target.find('?');
  head.path = target.substr(0, question);
  if (question != std::string_view::npos) head.query = target.substr(question + 1);
  for (const auto& [name, value] : ask.fields) head.fields.push_back({name, value});
  if (!ask.body.empty() || ask.chunked) {
    head.body = ask.chunked ? http::BodyKind::Chunked : http::BodyKind::Length;
    head.content_length = ask.body.size();
    EXPECT_EQ(exchange.body.append(ask.body), handler::BodyAppend::Ok);
  }
  exchange.peer = peer;
  exchange.listener = &listener;
  exchange.mount_length = ask.mount_length;
  exchange.target = ask.target_number;
  exchange.submit();
  g_running = &exchange;
  if (before) before(exchange);
  streamed_.clear();
  notices_ = 0;
  if (exchange.start()) caller_.run(exchange);
  if (after) after(exchange);
  EXPECT_EQ(PyErr_Occurred(), nullptr);
  static_cast<void>(exchange.finish());

  Seen seen;
  const handler::Response& response = exchange.response;
  seen.status = response.head.status;
  seen.reason = response.head.reason;
  for (std::size_t i = 0; i < response.head.fields.size(); ++i) {
    seen.fields.emplace_back(response.head.fields[i].name, response.head.fields[i].value);
  }
  seen.kind = response.body.kind;
  seen.declared = response.body.declared;
  seen.aborted = exchange.aborted;
  seen.notices = notices_;
  switch (seen.kind) {
    case handler::ResponseBody::Kind::Bytes: seen.body = response.body.bytes; break;
    case handler::ResponseBody::Kind::Foreign: seen.body = response.body.foreign->bytes(); break;
    case handler::ResponseBody::Kind::Stream:
    case handler::ResponseBody::Kind::Window: seen.body = streamed_; break;
    case handler::ResponseBody::Kind::File: {
      seen.body.resize(response.body.file_length);
      EXPECT_EQ(::pread(response.body.file.get(), seen.body.data(), seen.body.size(),
                        static_cast<off_t>(response.body.file_offset)),
                static_cast<ssize_t>(seen.body.size()));
      break;
    }
  }
  exchange.reset();
  interpreter().returned().release_all();
  return seen;
}

Seen ask(std::string_view source, const Ask& request) {
  const Script script(source);
  Host host(script.get("app"));
  return host.ask(request);
}

}  // namespace m0::python::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  Py_InitializeEx(0);
  PyObject* const path = PySys_GetObject("path");  // borrowed
  PyObject* const parent = PyUnicode_FromString(M0_PACKAGE_PARENT);
  PyList_Insert(path, 0, parent);
  const int code = RUN_ALL_TESTS();
  // No finalisation: like the server's, the process ends with its interpreter alive.
  std::fflush(nullptr);
  ::_exit(code);
}
