#include "m0/python/wsgi_call.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "m0/python/gil.hpp"
#include "m0/python/harness_test.hpp"

namespace m0::python::testing {
namespace {

using Kind = handler::ResponseBody::Kind;

/// An application whose view is `body`, indented by the caller.
std::string app(const std::string& body) {
  return "import sys, os, threading\ndef app(environ, start_response):\n" + body + "\n";
}

constexpr std::string_view kPage = "Internal Server Error\n";

void expect_plain_500(const Seen& seen) {
  EXPECT_EQ(seen.status, 500);
  EXPECT_EQ(seen.body, kPage);
  EXPECT_EQ(seen.kind, Kind::Bytes);
  EXPECT_FALSE(seen.aborted);
}

// ---- which application

TEST(WsgiCall, TheOneThatIsAskedAnswers) {
  const Script script(R"(
def answering(text):
    def app(environ, start_response):
        start_response('200 OK', [])
        return [text]
    return app
first, second = answering(b'first'), answering(b'second')
)");
  std::vector<PyRef> both;
  both.push_back(script.get("first"));
  both.push_back(script.get("second"));
  Host host(std::move(both));
  EXPECT_EQ(host.ask({.target_number = 1}).body, "second");
  EXPECT_EQ(host.ask({.target_number = 0}).body, "first");
  EXPECT_EQ(host.ask({.target_number = 1}).body, "second");
}

// ---- answers whose length is known

TEST(WsgiCall, AListOfOneIsAnsweredWhole) {
  const Seen seen = ask(app("  start_response('201 Made', [('X-A', 'b'), ('X-A', 'c')])\n  return [b'hello']"));
  EXPECT_EQ(seen.status, 201);
  EXPECT_EQ(seen.reason, "Made");
  EXPECT_EQ(seen.body, "hello");
  EXPECT_EQ(seen.kind, Kind::Bytes);
  EXPECT_EQ(seen.fields.size(), 2u);
  EXPECT_EQ(seen.notices, 0u);
}

TEST(WsgiCall, AListIsJoinedOnce) {
  EXPECT_EQ(ask(app("  start_response('200 OK', [])\n  return [b'a', b'', b'b', b'c']")).body, "abc");
  EXPECT_EQ(ask(app("  start_response('200 OK', [])\n  return (b'x', b'y')")).body, "xy");
  EXPECT_EQ(ask(app("  start_response('200 OK', [])\n  return []")).kind, Kind::Bytes);
}

TEST(WsgiCall, AnIteratorOverAListIsAnsweredWhole) {
  const Seen seen = ask(app("  start_response('200 OK', [])\n  return iter([b'a', b'b'])"));
  EXPECT_EQ(seen.kind, Kind::Bytes);
  EXPECT_EQ(seen.body, "ab");
  const Seen object = ask(R"(
class Response:
    def __iter__(self): return iter((b'1', b'2'))
def app(environ, start_response):
    start_response('200 OK', [])
    return Response()
)");
  EXPECT_EQ(object.kind, Kind::Bytes);
  EXPECT_EQ(object.body, "12");
}

TEST(WsgiCall, AnIterableOfLengthOneIsAnsweredWhole) {
  const Seen seen = ask(R"(
class One:
    def __len__(self): return 1
    def __iter__(self):
        yield b'only'
def app(environ, start_response):
    start_response('200 OK', [])
    return One()
)");
  EXPECT_EQ(seen.kind, Kind::Bytes);
  EXPECT_EQ(seen.body, "only");
}

TEST(WsgiCall, AChunkThatFillsTheDeclaredLengthIsAnsweredWhole) {
  const Seen seen = ask(app("  start_response('200 OK', [('Content-Length', '4')])\n  yield b''\n  yield b'four'"));
  EXPECT_EQ(seen.kind, Kind::Bytes);
  EXPECT_EQ(seen.body, "four");
  EXPECT_EQ(seen.notices, 0u);
}

TEST(WsgiCall, ALargeBodyIsNotCopied) {
  const Seen seen = ask(app("  start_response('200 OK', [])\n  return [b'z' * (3 << 20)]"));
  EXPECT_EQ(seen.kind, Kind::Foreign);
  EXPECT_EQ(seen.body, std::string(3 << 20, 'z'));
}

TEST(WsgiCall, WhereABodyIsCopiedAndWhereNot) {
  const auto of = [](std::size_t size) {
    return ask(app("  start_response('200 OK', [])\n  return [bytes(" + std::to_string(size) + ")]")).kind;
  };
  EXPECT_EQ(of(Answer::kCopiedUpTo), Kind::Bytes);
  EXPECT_EQ(of(Answer::kCopiedUpTo + 1), Kind::Foreign);
}

// ---- streams

TEST(WsgiCall, AGeneratorIsStreamedChunkByChunk) {
  const Script script(R"(
sent = []
def app(environ, start_response):
    start_response('200 OK', [])
    for i in range(3):
        sent.append(i)
        yield b'chunk%d' % i
)");
  Host host(script.get("app"));
  std::vector<std::string> when;
  host.on_notice = [&](handler::Exchange& exchange) {
    if (!exchange.window->readable().empty()) when.push_back(script.eval("sent"));
  };
  const Seen seen = host.ask({});
  EXPECT_EQ(seen.kind, Kind::Window);
  EXPECT_EQ(seen.body, "chunk0chunk1chunk2");
  EXPECT_FALSE(seen.declared);
  EXPECT_FALSE(seen.aborted);
  // PEP 3333: no block is held back until the next one exists.
  EXPECT_EQ(when, (std::vector<std::string>{"[0]", "[0, 1]", "[0, 1, 2]"}));
}

TEST(WsgiCall, EmptyChunksNeitherEndNorBeginAStream) {
  const Seen seen = ask(app("  start_response('200 OK', [])\n  yield b''\n  yield b'a'\n  yield b''\n  yield b'b'"));
  EXPECT_EQ(seen.body, "ab");
  const Seen nothing = ask(app("  start_response('200 OK', [])\n  yield b''\n  yield b''"));
  EXPECT_EQ(nothing.kind, Kind::Bytes);
  EXPECT_EQ(nothing.body, "");
}

TEST(WsgiCall, StartResponseMayComeWithTheFirstChunk) {
  const Seen seen = ask(R"(
class Lazy:
    def __init__(self, start): self.start = start; self.step = 0
    def __iter__(self): return self
    def __next__(self):
        self.step += 1
        if self.step == 1: return b''
        if self.step == 2:
            self.start('200 OK', [('X-Late', '1')])
            return b'body'
        raise StopIteration
def app(environ, start_response): return Lazy(start_response)
)");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.body, "body");
  EXPECT_EQ(seen.field("X-Late"), "1");
}

TEST(WsgiCall, AStreamMayDeclareItsLength) {
  const Seen seen = ask(app("  start_response('200 OK', [('Content-Length', '6')])\n  yield b'abc'\n  yield b'def'"));
  EXPECT_EQ(seen.kind, Kind::Window);
  EXPECT_EQ(seen.declared, 6u);
  EXPECT_EQ(seen.body, "abcdef");
  EXPECT_FALSE(seen.aborted);
}

TEST(WsgiCall, AFullWindowWaitsWithoutTheLock) {
  const Script script(R"(
def app(environ, start_response):
    start_response('200 OK', [])
    for i in range(20):
        yield bytes([i]) * 50000
)");
  Host host(script.get("app"));
  host.reads = false;
  std::string got;
  std::atomic<handler::BodyWindow*> window{nullptr};
  std::atomic<bool> said_all{false};
  host.on_notice = [&](handler::Exchange& exchange) { window.store(exchange.window.get()); };
  // The reader takes the interpreter's lock before it makes room: it would never get it from a producer that kept it.
  std::thread reader([&] {
    while (window.load() == nullptr) std::this_thread::yield();
    for (bool last = false; !last;) {
      last = said_all.load();
      PyGILState_Release(PyGILState_Ensure());
      for (auto bytes = window.load()->readable(); !bytes.empty(); bytes = window.load()->readable()) {
        got.append(bytes);
        window.load()->consume(bytes.size());
      }
    }
  });
  host.after = [&](handler::Exchange&) {
    said_all.store(true);
    const GilReleased released;
    reader.join();
  };
  EXPECT_FALSE(host.ask({}).aborted);
  std::string expected;
  for (char i = 0; i < 20; ++i) expected.append(50000, i);
  EXPECT_EQ(got, expected);
}

// ---- write()

TEST(WsgiCall, WriteSendsBeforeTheIterable) {
  const Seen seen =
      ask(app("  write = start_response('200 OK', [])\n  write(b'one')\n  write(b'')\n  write(b'two')\n"
              "  return [b'three', b'four']"));
  EXPECT_EQ(seen.kind, Kind::Window);
  EXPECT_EQ(seen.body, "onetwothreefour");
}

TEST(WsgiCall, WriteToAClientThatLeftRaises) {
  const Script script(R"(
raised = None
closed = []
def app(environ, start_response):
    global raised
    write = start_response('200 OK', [])
    write(b'x')
    leave()
    try: write(b'y')
    except OSError as error:
        raised = error
        raise
)");
  Host host(script.get("app"));
  host.ask({});
  EXPECT_EQ(script.eval("repr(raised)"), "BrokenPipeError(32, 'Broken pipe')");
}

TEST(WsgiCall, WriteTakesBytesOnly) {
  expect_plain_500(ask(app("  start_response('200 OK', [])('text')\n  return []")));
}

// ---- lengths that do not fit

TEST(WsgiCall, WhatExceedsTheDeclaredLengthIsDropped) {
  EXPECT_EQ(ask(app("  start_response('200 OK', [('Content-Length', '3')])\n  return [b'abc', b'def']")).body, "abc");
  const Seen seen = ask(app("  start_response('200 OK', [('Content-Length', '4')])\n  yield b'abc'\n  yield b'def'"));
  EXPECT_EQ(seen.body, "abcd");
  EXPECT_FALSE(seen.aborted);
  EXPECT_EQ(ask(app("  start_response('200 OK', [('Content-Length', '0')])\n  yield b'abc'")).body, "");
}

TEST(WsgiCall, ABodyThatIsTooShortIsCut) {
  for (const char* body : {"  return [b'abc']", "  return []", "  yield b'abc'", "  yield b''"}) {
    const Seen seen = ask(app("  start_response('200 OK', [('Content-Length', '9')])\n" + std::string(body)));
    EXPECT_EQ(seen.kind, Kind::Window) << body;
    EXPECT_EQ(seen.declared, 9u) << body;
    EXPECT_TRUE(seen.aborted) << body;
  }
}

TEST(WsgiCall, AskingStopsOnceTheDeclaredLengthIsReached) {
  const Script script(R"(
closed = asked = 0
class Body:
    def __iter__(self): return self
    def __next__(self):
        global asked
        asked += 1
        return b'ab'
    def close(self):
        global closed
        closed += 1
def app(environ, start_response):
    start_response('200 OK', [('Content-Length', '4')])
    return Body()
)");
  Host host(script.get("app"));
  EXPECT_EQ(host.ask({}).body, "abab");
  EXPECT_EQ(script.eval("(asked, closed)"), "(2, 1)");
}

// ---- HEAD and statuses without a body

TEST(WsgiCall, HeadHasTheLengthOfAGet) {
  const Ask head{.method = "HEAD"};
  EXPECT_EQ(ask(app("  start_response('200 OK', [])\n  return [b'hello']"), head).body, "hello");
  const Seen declared = ask(app("  start_response('200 OK', [('Content-Length', '99')])\n  return []"), head);
  EXPECT_EQ(declared.kind, Kind::Window);
  EXPECT_EQ(declared.declared, 99u);
  EXPECT_FALSE(declared.aborted);
  EXPECT_EQ(declared.body, "");
}

TEST(WsgiCall, HeadDoesNotRunAStreamToItsEnd) {
  const Script script(R"(
steps = 0
closed = False
def app(environ, start_response):
    global steps, closed
    start_response('200 OK', [])
    try:
        while True:
            steps += 1
            yield b'x'
    finally:
        closed = True
)");
  Host host(script.get("app"));
  const Seen seen = host.ask({.method = "HEAD"});
  EXPECT_EQ(seen.kind, Kind::Window);
  EXPECT_FALSE(seen.declared);
  EXPECT_EQ(seen.body, "");
  EXPECT_EQ(script.eval("(steps, closed)"), "(1, True)");
}

TEST(WsgiCall, A204SendsNothing) {
  const Seen seen = ask(app("  start_response('204 No Content', [])\n  yield b'excess'"));
  EXPECT_EQ(seen.status, 204);
  EXPECT_EQ(seen.body, "");
  EXPECT_FALSE(seen.aborted);
}

// ---- start_response

TEST(WsgiCall, ASecondStartResponseNeedsExcInfo) {
  expect_plain_500(ask(app("  start_response('200 OK', [])\n  start_response('200 OK', [])\n  return [b'x']")));
}

TEST(WsgiCall, ExcInfoReplacesAHeadThatWasNotSent) {
  for (const char* call : {"start_response('503 Busy', [('X-B', '2')], sys.exc_info())",
                           "start_response('503 Busy', [('X-B', '2')], exc_info=sys.exc_info())"}) {
    const Seen seen =
        ask(app("  start_response('200 OK', [('X-A', '1'), ('Content-Length', '1')])\n"
                "  try: raise ValueError\n"
                "  except ValueError: " +
                std::string(call) + "\n  return [b'sorry']"));
    EXPECT_EQ(seen.status, 503);
    EXPECT_EQ(seen.field("X-A"), "(none)");
    EXPECT_EQ(seen.field("X-B"), "2");
    EXPECT_EQ(seen.body, "sorry");
  }
}

TEST(WsgiCall, ExcInfoReplacesWhatWriteHadNotSentYet) {
  const Seen seen =
      ask(app("  write = start_response('200 OK', [('Content-Length', '3')])\n"
              "  write(b'abc')\n"
              "  try: raise ValueError\n"
              "  except ValueError: start_response('500 Oops', [], sys.exc_info())\n"
              "  return [b'error page']"));
  EXPECT_EQ(seen.status, 500);
  EXPECT_EQ(seen.body, "error page");
}

TEST(WsgiCall, ExcInfoAfterTheHeadersIsRaisedAndCutsTheAnswer) {
  const Script script(R"(
import sys
raised = None
def app(environ, start_response):
    global raised
    start_response('200 OK', [])
    yield b'part'
    try:
        raise KeyError('mine')
    except KeyError:
        try:
            start_response('500 Oops', [], sys.exc_info())
        except BaseException as error:
            raised = error
            raise
)");
  Host host(script.get("app"));
  const Seen seen = host.ask({});
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.body, "part");
  EXPECT_TRUE(seen.aborted);
  EXPECT_EQ(script.eval("repr(raised)"), "KeyError('mine')");
}

TEST(WsgiCall, WrongArgumentsOfStartResponseAreTypeErrors) {
  for (const char* call : {"start_response()", "start_response('200 OK')", "start_response('200 OK', [], None, 1)",
                           "start_response('200 OK', [], nonsense=1)", "start_response('200 OK', [], 5)",
                           "start_response(200, [])", "start_response('200 OK', 5)", "start_response('200 OK', [1])",
                           "start_response('200 OK', [('a',)])", "start_response('200 OK', [('a', 1)])",
                           "start_response('200 OK', [(b'a', 'b')])", "start_response(b'200 OK', [])"}) {
    const Script script(app("  global raised\n  raised = None\n  try: " + std::string(call) +
                            "\n  except TypeError as e: raised = e\n  start_response('200 OK', [])\n  return []"));
    Host host(script.get("app"));
    EXPECT_EQ(host.ask({}).status, 200) << call;
    EXPECT_EQ(script.eval("type(raised).__name__"), "TypeError") << call;
  }
}

TEST(WsgiCall, StartResponseMustHaveBeenCalled) {
  expect_plain_500(ask(app("  return [b'x']")));
  expect_plain_500(ask(app("  return []")));
  expect_plain_500(ask(app("  yield b'x'")));
  expect_plain_500(ask(app("  yield b''")));
}

TEST(WsgiCall, KeptCallablesAnswerNothingAfterTheRequest) {
  const Script script(R"(
kept = []
seen = []
def app(environ, start_response):
    for old_start, old_write in kept:
        for call in (lambda: old_start('200 OK', []), lambda: old_write(b'x')):
            try: call()
            except RuntimeError as error: seen.append(str(error))
    write = start_response('200 OK', [])
    kept.append((start_response, write))
    assert not environ['m0serve.disconnected']()
    kept_disconnected.append(environ['m0serve.disconnected'])
    return [b'ok']
kept_disconnected = []
)");
  Host host(script.get("app"));
  EXPECT_EQ(host.ask({}).body, "ok");
  EXPECT_EQ(host.ask({}).body, "ok");
  EXPECT_EQ(script.eval("seen"), "['this request has ended', 'this request has ended']");
  EXPECT_EQ(script.eval("[d() for d in kept_disconnected]"), "[True, True]");
  EXPECT_EQ(script.eval("len({id(start) for start, _ in kept})"), "2");
}

TEST(WsgiCall, CallablesThatNobodyKeptAreUsedAgain) {
  const Script script(R"(
ids = set()
def app(environ, start_response):
    ids.add((id(start_response), id(start_response('200 OK', [])), id(environ['m0serve.disconnected'])))
    return []
)");
  Host host(script.get("app"));
  for (int i = 0; i < 5; ++i) host.ask({});
  EXPECT_EQ(script.eval("len(ids)"), "1");
}

TEST(WsgiCall, StartResponseBelongsToItsThread) {
  const Script script(R"(
import threading
error = None
def app(environ, start_response):
    def other():
        global error
        try: start_response('200 OK', [])
        except RuntimeError as e: error = str(e)
    thread = threading.Thread(target=other)
    thread.start(); thread.join()
    start_response('200 OK', [])
    return [b'ok']
)");
  Host host(script.get("app"));
  EXPECT_EQ(host.ask({}).body, "ok");
  EXPECT_NE(script.eval("error").find("thread"), std::string::npos);
}

// ---- failures

TEST(WsgiCall, WhateverAViewRaisesIsAPlain500) {
  for (const char* error :
       {"ValueError('x')", "SystemExit(3)", "KeyboardInterrupt()", "MemoryError()", "OSError(5, 'io')",
        "GeneratorExit()", "RecursionError()", "BaseException('base')", "StopIteration(1)"}) {
    expect_plain_500(ask(app("  raise " + std::string(error))));
    expect_plain_500(ask(app("  start_response('200 OK', [('X-Gone', '1')])\n  raise " + std::string(error))));
  }
  const Seen seen = ask(app("  start_response('200 OK', [('X-Gone', '1')])\n  raise ValueError"));
  EXPECT_EQ(seen.field("X-Gone"), "(none)");
}

TEST(WsgiCall, RunawayRecursionEndsTheRequestOnly) {
  const Script script(R"(
def deep(): return deep()
def app(environ, start_response):
    if environ['PATH_INFO'] == '/deep': deep()
    start_response('200 OK', [])
    return [b'fine']
)");
  Host host(script.get("app"));
  expect_plain_500(host.ask({.target = "/deep"}));
  EXPECT_EQ(host.ask({}).body, "fine");
}

TEST(WsgiCall, AnExceptionInAStreamCutsIt) {
  const Seen seen = ask(app("  start_response('200 OK', [])\n  yield b'part'\n  raise SystemExit(1)"));
  EXPECT_EQ(seen.kind, Kind::Window);
  EXPECT_EQ(seen.body, "part");
  EXPECT_TRUE(seen.aborted);
}

TEST(WsgiCall, AnExceptionBeforeTheFirstChunkIsA500) {
  expect_plain_500(ask(app("  start_response('200 OK', [])\n  yield b''\n  raise ValueError")));
}

TEST(WsgiCall, BodiesThatAreNoBytesAreRefused) {
  for (const char* result : {"b'bytes'", "'text'", "None", "5", "['text']", "[None]", "[bytearray(b'x')]"}) {
    expect_plain_500(ask(app("  start_response('200 OK', [])\n  return " + std::string(result))));
  }
  const Seen seen = ask(app("  start_response('200 OK', [])\n  yield b'part'\n  yield 'text'"));
  EXPECT_TRUE(seen.aborted);
}

TEST(WsgiCall, AnExceptionWhoseTracebackCannotBeFormattedIsStillA500) {
  expect_plain_500(ask(R"(
class Nasty(Exception):
    def __str__(self): raise RuntimeError('no')
    __repr__ = __str__
def app(environ, start_response): raise Nasty()
)"));
}

// ---- close()

/// Counts calls of close() and remembers the thread.
constexpr std::string_view kCounting = R"(
import threading
closed = []
threads = set()
class Body:
    def __init__(self, chunks, error=None): self.chunks = list(chunks); self.error = error
    def __iter__(self): return self
    def __next__(self):
        threads.add(threading.get_ident())
        if self.chunks: return self.chunks.pop(0)
        if self.error: raise self.error
        raise StopIteration
    def close(self):
        threads.add(threading.get_ident())
        closed.append(1)
)";

TEST(WsgiCall, CloseIsCalledOnceOnEveryPath) {
  for (const char* view : {
           "    start_response('200 OK', [])\n    return Body([b'a', b'b'])",
           "    start_response('200 OK', [])\n    return Body([])",
           "    start_response('200 OK', [])\n    return Body([b'a'], ValueError())",
           "    start_response('200 OK', [])\n    return Body([], ValueError())",
           "    start_response('200 OK', [])\n    return Body(['text'])",
           "    start_response('200 OK', [('Content-Length', '1')])\n    return Body([b'abc'])",
           "    start_response('200 OK', [('Content-Length', '9')])\n    return Body([b'abc'])",
           "    return Body([b'a'])",
           "    return Body([])",
           "    start_response('204 No Content', [])\n    return Body([b'a'])",
       }) {
    const Script script(std::string(kCounting) + "def app(environ, start_response):\n" + view + "\n");
    Host host(script.get("app"));
    host.ask({});
    EXPECT_EQ(script.eval("(closed, len(threads))"), "([1], 1)") << view;
  }
}

TEST(WsgiCall, CloseIsCalledWhenThereIsNoIterator) {
  const Script script(R"(
closed = []
class Body:
    def __iter__(self): raise ValueError
    def close(self): closed.append(1)
def app(environ, start_response):
    start_response('200 OK', [])
    return Body()
)");
  Host host(script.get("app"));
  expect_plain_500(host.ask({}));
  EXPECT_EQ(script.eval("closed"), "[1]");
}

TEST(WsgiCall, ACloseThatRaisesLeavesTheAnswer) {
  const Seen seen = ask(R"(
class Body:
    def __iter__(self): return iter([b'fine'])
    def close(self): raise ValueError
def app(environ, start_response):
    start_response('200 OK', [])
    return Body()
)");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.body, "fine");
}

TEST(WsgiCall, AVanishedClientEndsTheStreamAndClosesIt) {
  const Script script(std::string(kCounting) + R"(
def app(environ, start_response):
    start_response('200 OK', [])
    return Body([b'x'] * 100000)
)");
  Host host(script.get("app"));
  unsigned seen = 0;
  host.on_notice = [&](handler::Exchange& exchange) {
    if (++seen == 10) exchange.abandon();
  };
  host.ask({});
  EXPECT_EQ(script.eval("closed"), "[1]");
  EXPECT_LE(seen, 11u);
}

TEST(WsgiCall, AStreamOfNothingNoticesThatItsClientLeft) {
  const Script script(R"(
closed = 0
steps = 0
def app(environ, start_response):
    global closed, steps
    start_response('200 OK', [])
    try:
        while True:
            steps += 1
            if steps == 5: leave()
            if steps > 1000: break
            yield b''
    finally:
        closed += 1
)");
  Host host(script.get("app"));
  host.ask({});
  EXPECT_EQ(script.eval("(closed, steps)"), "(1, 5)");
}

TEST(WsgiCall, DisconnectedTellsALongView) {
  const Script script(R"(
seen = []
def app(environ, start_response):
    gone = environ['m0serve.disconnected']
    seen.append(gone())
    leave()
    seen.append(gone())
    start_response('200 OK', [])
    return []
)");
  Host host(script.get("app"));
  host.ask({});
  EXPECT_EQ(script.eval("seen"), "[False, True]");
}

TEST(WsgiCall, ARequestWhoseClientIsGoneIsNotRun) {
  const Script script("ran = 0\ndef app(e, s):\n  global ran\n  ran += 1\n  s('200 OK', [])\n  return []\n");
  Host host(script.get("app"));
  host.before = [](handler::Exchange& exchange) { exchange.abandon(); };
  host.ask({});
  EXPECT_EQ(script.eval("ran"), "0");
}

// ---- the validator of the standard library

TEST(WsgiCall, TheStandardLibrarysValidatorIsContent) {
  const Script script(R"(
from wsgiref.validate import validator
def inner(environ, start_response):
    data = environ['wsgi.input'].read(3) + environ['wsgi.input'].readline()
    data += b''.join(environ['wsgi.input']) + environ['wsgi.input'].read(10)
    environ['wsgi.errors'].write('')
    environ['wsgi.errors'].flush()
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [data]
app = validator(inner)
)");
  Host host(script.get("app"));
  EXPECT_EQ(host.ask({}).status, 200);
  EXPECT_EQ(host.ask({.method = "HEAD"}).status, 200);
  EXPECT_EQ(host.ask({.method = "OPTIONS", .target = "*", .form = http::TargetForm::Asterisk}).status, 200);
  const Seen seen = host.ask({.method = "POST",
                              .target = "/x?y",
                              .fields = {{"Host", "h"}, {"Content-Type", "text/plain"}},
                              .body = "one\ntwo\nthree\nfour"});
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.body, "one\ntwo\nthree\nfour");
}

TEST(WsgiCall, TheValidatorIsOn) {
  const Seen seen = ask(R"(
from wsgiref.validate import validator
def inner(environ, start_response):
    start_response('200 OK', [])
    return [b'no content type: the validator objects']
app = validator(inner)
)");
  expect_plain_500(seen);
}

}  // namespace
}  // namespace m0::python::testing
