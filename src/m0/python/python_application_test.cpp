#include "m0/python/python_application.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <thread>

#include "m0/base/parker.hpp"
#include "m0/base/waker.hpp"
#include "m0/pool/offload_pool.hpp"
#include "m0/python/harness_test.hpp"

namespace m0::python::testing {
namespace {

using Pool = pool::OffloadPool<handler::Exchange>;

/// A folder with one module of a name of its own.
class Folder {
 public:
  explicit Folder(const std::string& module, const std::string& source) {
    std::string pattern = (std::filesystem::temp_directory_path() / "m0-python-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
    std::ofstream(path_ / (module + ".py")) << source;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// Says something of a module that was loaded, from the detached main thread.
std::string ask_module(const std::string& module, const std::string& expression) {
  const PyGILState_STATE state = PyGILState_Ensure();
  std::string answer;
  {
    const Script script("import sys\nm = sys.modules['" + module + "']\n");
    answer = script.eval(expression);
  }
  PyGILState_Release(state);
  return answer;
}

/// A lane of Python threads with the test as its loop.
class Served {
 public:
  Served(PythonApplication& application, unsigned threads) : pool_(waker_, 0) {
    pool::LaneConfig lane;
    lane.threads = lane.max_threads = threads;
    lane.parallelism = application.parallelism();
    pool_.add_lane(lane, [&application](handler::JobThread& thread) {
      const auto body = application.make_thread(thread.context(), {});
      thread.ready();
      body->run(thread);
    });
    EXPECT_EQ(pool_.start(), "");
  }
  ~Served() {
    pool_.stop();
    EXPECT_TRUE(pool_.join_until(base::now() + std::chrono::seconds(20)));
  }

  /// Asks for all targets at once and gives the bodies in their order.
  std::vector<std::string> ask(const std::vector<std::string>& targets) {
    std::deque<handler::Exchange> exchanges;
    std::vector<std::string> bodies(targets.size());
    for (const std::string& target : targets) {
      handler::Exchange& exchange = exchanges.emplace_back(budget_);
      exchange.request.method = "GET";
      exchange.request.target = exchange.request.path = target;
      exchange.listener = &listener_;
      exchange.submit();
      EXPECT_TRUE(pool_.submit(0, exchange));
    }
    pool_.hand_over();
    std::size_t left = targets.size();
    const base::Instant deadline = base::now() + std::chrono::seconds(20);
    while (left > 0 && base::now() < deadline) {
      wait_for_work();
      pool_.drain([&](handler::Exchange& exchange) {
        const auto seen = exchange.take_notice();
        std::size_t at = 0;
        while (&exchanges[at] != &exchange) ++at;
        if (exchange.response.body.kind == handler::ResponseBody::Kind::Window) {
          for (auto bytes = exchange.window->readable(); !bytes.empty(); bytes = exchange.window->readable()) {
            bodies[at].append(bytes);
            exchange.window->consume(bytes.size());
          }
        }
        if (!seen.returned) return;
        if (exchange.response.body.foreign != nullptr) bodies[at] = exchange.response.body.foreign->bytes();
        bodies[at].append(exchange.response.body.bytes);
        --left;
      });
    }
    EXPECT_EQ(left, 0u);
    for (handler::Exchange& exchange : exchanges) exchange.reset();
    return bodies;
  }

 private:
  void wait_for_work() {
    waker_.announce_sleep();
    if (pool_.nothing_came_back()) {
      pollfd watched{waker_.fd(), POLLIN, 0};
      ::poll(&watched, 1, 20);
    }
    waker_.awake();
    waker_.drain();
    pool_.tend(base::now());
  }

  base::Waker waker_;
  handler::BodyBudget budget_;
  handler::ListenerInfo listener_{"127.0.0.1", "8000", false};
  Pool pool_;
};

constexpr const char* kSource = R"(
import signal, threading
names = set()
loaded_on = threading.current_thread()
hooked = []
def hook(worker): hooked.append(worker)
started = threading.Barrier(2, timeout=20)
class Body(bytes):
    def __del__(self): dropped.append(threading.current_thread().name)
dropped = []
def app(environ, start_response):
    path = environ['PATH_INFO']
    names.add(threading.current_thread().name)
    start_response('200 OK', [])
    if path == '/meet':
        started.wait()
    if path == '/signals':
        return [repr(signal.pthread_sigmask(signal.SIG_BLOCK, [])).encode()]
    if path == '/stream':
        return (b'%d.' % i for i in range(1000))
    if path == '/long':
        return (b'z' * 30000 for i in range(10))
    if path == '/large':
        return [Body(b'L' * (2 << 20))]
    return [path.encode()]
)";

TEST(PythonApplication, ServesOnItsThreads) {
  const Folder folder("served_app", kSource);
  PythonApplication application({.target = "served_app", .app_dir = folder.path(), .worker_start = "served_app:hook"});
  application.set_surroundings({.multiprocess = false, .multithread = true, .worker = 3});
  application.load();
  EXPECT_EQ(ask_module("served_app", "m.hooked"), "[3]");
  EXPECT_EQ(ask_module("served_app", "m.loaded_on.name"), "MainThread");
  sigset_t loops;
  sigfillset(&loops);
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, &loops, &before);
  {
    Served served(application, 2);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    std::vector<std::string> targets;
    targets.reserve(200);
    for (int i = 0; i < 200; ++i) targets.push_back("/" + std::to_string(i));
    EXPECT_EQ(served.ask(targets), targets);

    // Two views that wait for each other need two threads: a blocked one gives up the lock and another is woken.
    EXPECT_EQ(served.ask({"/meet", "/meet"}), (std::vector<std::string>{"/meet", "/meet"}));
    EXPECT_EQ(ask_module("served_app", "sorted(m.names)"), "['m0serve-default-0', 'm0serve-default-1']");

    // The thread that starts them (here the test's) may have signals blocked: views have what the main thread has.
    EXPECT_EQ(served.ask({"/signals"}), std::vector<std::string>{"set()"});

    std::string numbers;
    for (int i = 0; i < 1000; ++i) numbers += std::to_string(i) + ".";
    EXPECT_EQ(served.ask({"/stream"}), std::vector<std::string>{numbers});
    EXPECT_EQ(served.ask({"/long", "/stream", "/long"}),
              (std::vector<std::string>{std::string(300000, 'z'), numbers, std::string(300000, 'z')}));
  }
  // Threads that ended leave no entry behind that would pass for alive.
  EXPECT_EQ(ask_module("served_app", "[t.name for t in m.threading.enumerate() if t.name.startswith('m0serve')]"),
            "[]");
}

TEST(PythonApplication, AnIdleProcessReleasesLargeBodies) {
  const Folder folder("large_app", kSource);
  PythonApplication application({.target = "large_app:app", .app_dir = folder.path()});
  application.load();
  Served served(application, 1);
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::jthread loop([&](const std::stop_token& stop) {
    EXPECT_EQ(served.ask({"/large"}).front().size(), 2u << 20);
    const base::Instant deadline = base::now() + std::chrono::seconds(20);
    while (!stop.stop_requested() && base::now() < deadline && ask_module("large_app", "len(m.dropped)") != "1") {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(::eventfd_write(wake, 1), 0);
  });
  application.wait(wake);
  loop.join();
  EXPECT_EQ(ask_module("large_app", "m.dropped"), "['MainThread']");
  ::close(wake);
}

TEST(PythonApplication, ASignalThatCameBeforeItWaitsIsHandled) {
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const Folder folder("early_signal_app",
                      "import os, signal\nseen = []\n"
                      "def handle(number, frame):\n"
                      "    seen.append(number)\n"
                      "    os.eventfd_write(" +
                          std::to_string(wake) +
                          ", 1)\n"
                          "signal.signal(signal.SIGUSR1, handle)\n"
                          "def app(e, s): pass\n");
  PythonApplication application({.target = "early_signal_app", .app_dir = folder.path()});
  application.load();
  ::raise(SIGUSR1);
  base::Parker done;
  std::atomic<bool> rescued{false};
  std::thread rescue([&] {
    rescued = !done.wait_until(base::now() + std::chrono::seconds(5));
    if (rescued) ::eventfd_write(wake, 1);
  });
  application.wait(wake);
  done.wake();
  rescue.join();
  EXPECT_FALSE(rescued) << "it would have waited for the next signal";
  EXPECT_EQ(ask_module("early_signal_app", "m.seen"), "[10]");
  ::signal(SIGUSR1, SIG_DFL);
  ::close(wake);
}

TEST(PythonApplication, SignalHandlersRunWhileItWaits) {
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const Folder folder("signal_app",
                      "import os, signal, threading\nseen = []\n"
                      "def handle(number, frame):\n"
                      "    seen.append((number, threading.current_thread().name))\n"
                      "    if len(seen) == 1: raise ValueError('handlers may fail')\n"
                      "    os.eventfd_write(" +
                          std::to_string(wake) +
                          ", 1)\n"
                          "signal.signal(signal.SIGUSR1, handle)\n"
                          "def app(e, s): pass\n");
  PythonApplication application({.target = "signal_app", .app_dir = folder.path()});
  application.load();
  std::thread sender([] {
    ::kill(::getpid(), SIGUSR1);
    const base::Instant deadline = base::now() + std::chrono::seconds(20);
    while (ask_module("signal_app", "len(m.seen)") == "0" && base::now() < deadline) std::this_thread::yield();
    ::kill(::getpid(), SIGUSR1);
  });
  application.wait(wake);
  sender.join();
  EXPECT_EQ(ask_module("signal_app", "m.seen"), "[(10, 'MainThread'), (10, 'MainThread')]");
  ::signal(SIGUSR1, SIG_DFL);
  ::close(wake);
}

std::string refusal(PythonConfig config) {
  PythonApplication application(std::move(config));
  try {
    application.load();
  } catch (const handler::LoadError& error) {
    return error.what();
  }
  return "(loaded)";
}

TEST(PythonApplication, MountedApplicationsAreLoadedWithIt) {
  const Folder main_folder("main_of_two", "def app(e, s): pass\n");
  const Folder folder("mounted_of_two", "loaded = True\ndef mine(e, s): pass\n");
  PythonConfig config{.target = "main_of_two", .app_dir = main_folder.path()};
  config.mounts = {{"/m", "mounted_of_two:mine"}};
  EXPECT_NE(refusal(config).find("--mount /m: there is no module 'mounted_of_two'"), std::string::npos);
  const Script script("import sys\nsys.path.insert(1, '" + folder.path() + "')\n");
  EXPECT_EQ(refusal(config), "(loaded)");
  EXPECT_EQ(ask_module("mounted_of_two", "m.loaded"), "True");
}

TEST(PythonApplication, WhatCannotBeLoadedTogetherIsAnErrorOfItsOwn) {
  const std::string django = "import os\nos.environ['DJANGO_SETTINGS_MODULE'] = __name__ + '_settings'\n";
  const Folder folder("shop_of_two", django + "def app(e, s): pass\n");
  std::ofstream(folder.path() + "/blog_of_two.py") << django << "def app(e, s): pass\n";
  PythonApplication application(
      {.target = "shop_of_two", .mounts = {{"/blog", "blog_of_two"}}, .app_dir = folder.path()});
  try {
    application.load();
    ADD_FAILURE() << "loaded";
  } catch (const handler::ConfigurationError& error) {
    EXPECT_NE(std::string(error.what()).find("run two servers"), std::string::npos) << error.what();
  }
}

TEST(PythonApplication, WhatCannotBeLoadedIsOneSentence) {
  const Folder folder("refused_app",
                      "text = 'x'\ndef hook(worker): raise ValueError('not today')\ndef app(e, s): pass\n");
  const std::string where = folder.path();
  EXPECT_EQ(refusal({.target = "refused_app:app", .app_dir = where}), "(loaded)");
  EXPECT_NE(refusal({.target = "no_such_module_of_anybody", .app_dir = where}).find("there is no module"),
            std::string::npos);
  EXPECT_NE(refusal({.target = "refused_app:text", .app_dir = where}).find("not a WSGI application"),
            std::string::npos);
  EXPECT_NE(refusal({.target = "refused_app", .app_dir = where, .worker_start = "refused_app:hook"}).find("worker 0"),
            std::string::npos);
}

TEST(PythonApplication, SaysWhichInterpreterItIs) {
  const PythonApplication application({.target = "x"});
  EXPECT_EQ(application.description().rfind("CPython 3.", 0), 0u);
  EXPECT_EQ(application.description().find('('), std::string::npos);
}

}  // namespace
}  // namespace m0::python::testing
