#include "m0/cli/parse.hpp"

#include <fmt/format.h>

#include <map>

namespace m0::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

std::expected<Invocation, Exit> run(const Words& words, const Variables& variables = {}, Door door = Door::Python) {
  return parse(
      words,
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      door);
}

Invocation good(const Words& words, const Variables& variables = {}, Door door = Door::Python) {
  const auto parsed = run(words, variables, door);
  EXPECT_TRUE(parsed) << parsed.error().text;
  return parsed.value_or(Invocation{});
}

/// The sentence of a refusal, without the program's name and the newline.
std::string bad(const Words& words, const Variables& variables = {}, Door door = Door::Python) {
  const auto parsed = run(words, variables, door);
  EXPECT_FALSE(parsed);
  if (parsed) return "(accepted)";
  EXPECT_EQ(parsed.error().code, 2);
  EXPECT_FALSE(parsed.error().to_stdout);
  const std::string& text = parsed.error().text;
  EXPECT_THAT(text, StartsWith("m0serve: "));
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line: " << text;
  return text.substr(9, text.size() - 10);
}

// -- the application

TEST(Parse, AnApplicationIsEnough) {
  const Invocation got = good({"project.wsgi"});
  EXPECT_EQ(got.python.application, "project.wsgi");
  EXPECT_THAT(got.config.binds, ElementsAre("127.0.0.1:8000"));
  EXPECT_EQ(got.config.workers, 1U);
  EXPECT_EQ(got.python.app_dir, ".");
  EXPECT_EQ(got.python.switch_interval, 1ms);
  EXPECT_FALSE(got.python.factory);
  EXPECT_TRUE(got.config.fork);
}

TEST(Parse, FlagsStandOnEitherSideOfTheApplication) {
  const Invocation got = good({"--workers", "2", "app:make", "--factory", "--bind", ":1"});
  EXPECT_EQ(got.python.application, "app:make");
  EXPECT_EQ(got.config.workers, 2U);
  EXPECT_TRUE(got.python.factory);
  EXPECT_THAT(got.config.binds, ElementsAre(":1"));
}

TEST(Parse, ASwitchDoesNotSwallowTheApplication) {
  const Invocation got = good({"--preload", "app"});
  EXPECT_EQ(got.python.application, "app");
  EXPECT_TRUE(got.config.preload);
}

TEST(Parse, NoApplicationIsASentence) {
  EXPECT_THAT(bad({}), HasSubstr("no application is named: write m0serve MODULE[:ATTR]"));
  EXPECT_THAT(bad({""}), HasSubstr("no application"));
  EXPECT_THAT(bad({"--workers", "2"}), HasSubstr("no application"));
}

TEST(Parse, TwoApplicationsAreOneTooMany) {
  EXPECT_EQ(bad({"one", "two"}), "'two' is one word too many: the application is 'one'");
}

TEST(Parse, AFileIsToldItsModule) {
  EXPECT_EQ(bad({"app.py"}), "'app.py' is a file: name its module, m0serve app");
  EXPECT_EQ(bad({"src/app.py"}), "'src/app.py' is a file: name its module, m0serve --app-dir src app");
}

TEST(Parse, AnIncompleteApplicationIsRefused) {
  EXPECT_THAT(bad({":app"}), HasSubstr("is not MODULE[:ATTR]"));
  EXPECT_THAT(bad({"app:"}), HasSubstr("is not MODULE[:ATTR]"));
}

TEST(Parse, CommandsAreReserved) {
  for (const auto& [command, problem] : {std::pair{"publish", "comes first"}, {"top", "is not in this version yet"}}) {
    EXPECT_THAT(bad({command}), HasSubstr(problem));
    EXPECT_THAT(bad({"--workers", "2", command, "a", "b"}), HasSubstr(problem));
    const std::string module = std::string(command) + ":app";
    EXPECT_EQ(good({module}).python.application, module);
  }
}

TEST(Parse, TwoDashesEndTheFlags) {
  EXPECT_EQ(good({"--preload", "--", "app"}).python.application, "app");
  EXPECT_EQ(good({"--", "--odd"}).python.application, "--odd");
}

TEST(Parse, TheSettingsOfThePythonDoor) {
  const Invocation got =
      good({"app", "--app-dir", "/srv", "--worker-start", "hooks:start", "--switch-interval", "5ms", "--factory"});
  EXPECT_EQ(got.python.app_dir, "/srv");
  EXPECT_EQ(got.python.worker_start, "hooks:start");
  EXPECT_EQ(got.python.switch_interval, 5ms);
  EXPECT_TRUE(got.python.factory);
  EXPECT_THAT(bad({"app", "--worker-start", "hooks"}), HasSubstr("write MODULE:FUNC"));
  EXPECT_THAT(bad({"app", "--worker-start", "hooks:"}), HasSubstr("write MODULE:FUNC"));
  EXPECT_THAT(bad({"app", "--app-dir="}), HasSubstr("--app-dir"));
}

// -- where it listens

TEST(Parse, BindMayBeGivenSeveralTimes) {
  EXPECT_THAT(good({"app", "--bind", ":1", "-b", "unix:/x,y", "--bind=[::1]:3"}).config.binds,
              ElementsAre(":1", "unix:/x,y", "[::1]:3"));
}

TEST(Parse, ABadBindIsASentence) {
  EXPECT_THAT(bad({"app", "--bind", "8000"}), StartsWith("--bind: '8000' is only a port"));
  EXPECT_THAT(bad({"app", "--bind", "h:99999"}), StartsWith("--bind: "));
  EXPECT_THAT(bad({"app", "--bind", ""}), StartsWith("--bind: the address is empty"));
}

TEST(Parse, HostAndPortMakeAnAddress) {
  EXPECT_THAT(good({"app", "--host", "0.0.0.0"}).config.binds, ElementsAre("0.0.0.0:8000"));
  EXPECT_THAT(good({"app", "--port", "99"}).config.binds, ElementsAre("127.0.0.1:99"));
  EXPECT_THAT(good({"app", "--host", "::1", "--port", "99"}).config.binds, ElementsAre("[::1]:99"));
  EXPECT_THAT(good({"app", "--host", "[::1]"}).config.binds, ElementsAre("[::1]:8000"));
  EXPECT_THAT(good({"app", "--port", "0"}).config.binds, ElementsAre("127.0.0.1:0"));
}

TEST(Parse, BadHostsAndPortsAreSentences) {
  EXPECT_EQ(bad({"app", "--port", "65536"}), "--port: 65535 is the most it can be");
  EXPECT_EQ(bad({"app", "--port", "http"}), "--port: 'http' is not a whole number");
  EXPECT_THAT(bad({"app", "--host", "a b"}), StartsWith("--host: "));
}

TEST(Parse, BindAndHostExcludeEachOther) {
  EXPECT_THAT(bad({"app", "--bind", ":1", "--port", "2"}), HasSubstr("leave --host and --port out"));
  EXPECT_THAT(bad({"app", "--host", "h", "--bind", ":1"}), HasSubstr("leave --host and --port out"));
}

TEST(Parse, TheVariablePortAloneMeansEveryInterface) {
  EXPECT_THAT(good({"app"}, {{"PORT", "5000"}}).config.binds, ElementsAre(":5000"));
}

TEST(Parse, TheVariablePortIsThePortOfAHostThatIsNamed) {
  EXPECT_THAT(good({"app", "--host", "h"}, {{"PORT", "5000"}}).config.binds, ElementsAre("h:5000"));
  EXPECT_THAT(good({"app"}, {{"PORT", "5000"}, {"M0_HOST", "h"}}).config.binds, ElementsAre("h:5000"));
}

TEST(Parse, OurOwnVariableForThePortKeepsTheHost) {
  EXPECT_THAT(good({"app"}, {{"M0_PORT", "5000"}}).config.binds, ElementsAre("127.0.0.1:5000"));
  EXPECT_THAT(good({"app"}, {{"M0_PORT", "5000"}, {"PORT", "1"}}).config.binds, ElementsAre("127.0.0.1:5000"));
}

TEST(Parse, WhereToListenInOrderOfPrecedence) {
  const Variables all{{"M0_BIND", ":1"}, {"M0_PORT", "2"}, {"PORT", "3"}};
  EXPECT_THAT(good({"app", "--bind", ":9"}, all).config.binds, ElementsAre(":9"));
  EXPECT_THAT(good({"app", "--port", "9"}, all).config.binds, ElementsAre("127.0.0.1:9"));
  EXPECT_THAT(good({"app"}, all).config.binds, ElementsAre(":1"));
  EXPECT_THAT(good({"app"}, {{"M0_PORT", "2"}, {"PORT", "3"}}).config.binds, ElementsAre("127.0.0.1:2"));
  EXPECT_THAT(good({"app"}, {{"M0_BIND", ":1"}, {"PORT", "3"}}).config.binds, ElementsAre(":1"));
}

TEST(Parse, AStrayVariablePortDoesNotMatterWhenFlagsSayItAll) {
  EXPECT_THAT(good({"app", "--bind", ":9"}, {{"PORT", "tcp://10.0.0.1:80"}}).config.binds, ElementsAre(":9"));
  EXPECT_THAT(bad({"app"}, {{"PORT", "tcp://10.0.0.1:80"}}), StartsWith("PORT: "));
}

TEST(Parse, SeveralAddressesInAVariable) {
  EXPECT_THAT(good({"app"}, {{"M0_BIND", ":1, unix:/run/x"}}).config.binds, ElementsAre(":1", "unix:/run/x"));
  EXPECT_THAT(bad({"app"}, {{"M0_BIND", ":1,"}}), StartsWith("M0_BIND: the address is empty"));
}

TEST(Parse, TheModeOfAUnixSocketIsOctal) {
  EXPECT_EQ(good({"app"}).config.unix_mode, 0666U);
  EXPECT_EQ(good({"app", "--unix-mode", "660"}).config.unix_mode, 0660U);
  EXPECT_EQ(good({"app", "--unix-mode", "0600"}).config.unix_mode, 0600U);
  for (const char* mode : {"", "888", "0x1", "1777", "77777", "u=rw"}) {
    EXPECT_THAT(bad({"app", std::string("--unix-mode=") + mode}), HasSubstr("--unix-mode")) << mode;
  }
}

// -- processes and threads

TEST(Parse, WorkersComeFromFlagOwnVariableAndTheCommonOne) {
  EXPECT_EQ(good({"app"}, {{"WEB_CONCURRENCY", "3"}}).config.workers, 3U);
  EXPECT_EQ(good({"app"}, {{"WEB_CONCURRENCY", "3"}, {"M0_WORKERS", "2"}}).config.workers, 2U);
  EXPECT_EQ(good({"app", "-w", "4"}, {{"WEB_CONCURRENCY", "3"}, {"M0_WORKERS", "2"}}).config.workers, 4U);
  EXPECT_EQ(good({"app", "-w4"}).config.workers, 4U);
}

TEST(Parse, WorkersHaveBounds) {
  EXPECT_EQ(bad({"app", "--workers", "0"}), "--workers: 1 is the least it can be");
  EXPECT_EQ(bad({"app", "--workers", "100000"}), "--workers: 512 is the most it can be");
  EXPECT_EQ(bad({"app", "--workers", "-1"}), "--workers: '-1' is not a whole number");
  EXPECT_EQ(bad({"app"}, {{"WEB_CONCURRENCY", "many"}}), "WEB_CONCURRENCY: 'many' is not a whole number");
}

TEST(Parse, NoForkTurnsForkingOff) {
  EXPECT_FALSE(good({"app", "--no-fork"}).config.fork);
  EXPECT_FALSE(good({"app"}, {{"M0_NO_FORK", "1"}}).config.fork);
  EXPECT_TRUE(good({"app"}, {{"M0_NO_FORK", "0"}}).config.fork);
}

struct Threads {
  unsigned kept;
  unsigned most;
  bool operator==(const Threads&) const = default;
};
Threads threads_of(const Words& flags) {
  Words words{"app"};
  words.insert(words.end(), flags.begin(), flags.end());
  const pool::LaneConfig lane = good(words).config.server.lane;
  return {lane.threads, lane.max_threads};
}

TEST(Parse, PlainKeepsEightThreadsAndGrows) { EXPECT_EQ(threads_of({}), (Threads{8, 64})); }
TEST(Parse, BlockingThreadsAloneIsExact) {
  EXPECT_EQ(threads_of({"--blocking-threads", "1"}), (Threads{1, 1}));
  EXPECT_EQ(threads_of({"--blocking-threads", "100"}), (Threads{100, 100}));
}
TEST(Parse, MaxBlockingThreadsAloneGrowsFromEight) {
  EXPECT_EQ(threads_of({"--max-blocking-threads", "100"}), (Threads{8, 100}));
  EXPECT_EQ(threads_of({"--max-blocking-threads", "4"}), (Threads{4, 4}));
}
TEST(Parse, BothBlockingThreadsAreARange) {
  EXPECT_EQ(threads_of({"--blocking-threads", "2", "--max-blocking-threads", "16"}), (Threads{2, 16}));
  EXPECT_EQ(bad({"app", "--blocking-threads", "8", "--max-blocking-threads", "4"}),
            "--max-blocking-threads 4 is less than --blocking-threads 8");
}
TEST(Parse, ThreadsFromVariables) {
  const auto lane = good({"app"}, {{"M0_BLOCKING_THREADS", "3"}}).config.server.lane;
  EXPECT_EQ(lane.threads, 3U);
  EXPECT_EQ(lane.max_threads, 3U);
}

// -- lanes and mounts

using Lane = server::LaneRule;

Lane lane_of(const std::string& text) {
  const auto lanes = good({"app", "--lane", text}).config.server.lanes;
  EXPECT_EQ(lanes.size(), 1U) << text;
  return lanes.empty() ? Lane{} : lanes.front();
}
Threads lane_threads(const std::string& text) {
  const Lane rule = lane_of(text);
  return {rule.lane.threads, rule.lane.max_threads};
}
std::vector<std::string> prefixes(const std::vector<Lane>& lanes) {
  std::vector<std::string> found;
  for (const Lane& each : lanes) found.push_back(each.prefix);
  return found;
}

TEST(Parse, ALaneIsNamedByItsPrefix) {
  const Lane rule = lane_of("/reports,threads=2,queue=64,queue-timeout=1500ms");
  EXPECT_EQ(rule.prefix, "/reports");
  EXPECT_EQ(rule.lane.name, "/reports");
  EXPECT_EQ(rule.lane.threads, 2U);
  EXPECT_EQ(rule.lane.max_threads, 2U);
  EXPECT_EQ(rule.lane.queue, 64U);
  EXPECT_EQ(rule.lane.queue_timeout, 1500ms);
}

TEST(Parse, ALaneWithoutWordsIsLikeTheDefaultOne) {
  const pool::LaneConfig plain;
  const Lane rule = lane_of("/a/b");
  EXPECT_EQ(rule.lane.threads, plain.threads);
  EXPECT_EQ(rule.lane.max_threads, plain.max_threads);
  EXPECT_EQ(rule.lane.queue, plain.queue);
  EXPECT_EQ(rule.lane.queue_timeout, 0s);
}

TEST(Parse, TheThreadsOfALane) {
  EXPECT_EQ(lane_threads("/a,threads=3"), (Threads{3, 3}));
  EXPECT_EQ(lane_threads("/a,threads=3,max-threads=5"), (Threads{3, 5}));
  EXPECT_EQ(lane_threads("/a,max-threads=5"), (Threads{5, 5}));
  EXPECT_EQ(lane_threads("/a,max-threads=100"), (Threads{8, 100}));
  EXPECT_EQ(bad({"app", "--lane", "/a,threads=6,max-threads=5"}), "--lane: max-threads=5 is less than threads=6");
}

TEST(Parse, TheDefaultLaneIsNotChangedByOthers) {
  const server::Config got = good({"app", "--lane", "/a,threads=1,queue=2,queue-timeout=3s"}).config.server;
  EXPECT_EQ(got.lane.name, "default");
  EXPECT_EQ(got.lane.threads, 8U);
  EXPECT_EQ(got.lane.queue, 1024U);
  EXPECT_EQ(got.lane.queue_timeout, 0s);
}

TEST(Parse, TheQueueTimeoutOfTheDefaultLane) {
  EXPECT_EQ(good({"app", "--queue-timeout", "2s"}).config.server.lane.queue_timeout, 2s);
  EXPECT_EQ(good({"app"}, {{"M0_QUEUE_TIMEOUT", "3"}}).config.server.lane.queue_timeout, 3s);
  EXPECT_EQ(good({"app", "--queue-timeout", "0"}).config.server.lane.queue_timeout, 0s);
  EXPECT_THAT(bad({"app", "--queue-timeout", "soon"}), StartsWith("--queue-timeout: 'soon' is not a time"));
  EXPECT_EQ(bad({"app", "--queue-timeout", "25h"}), "--queue-timeout: 1d is the most it can be");
}

TEST(Parse, LanesMayBeGivenSeveralTimes) {
  const auto both = good({"app", "--lane", "/a,threads=1", "--lane=/b"}).config.server.lanes;
  EXPECT_THAT(prefixes(both), ElementsAre("/a", "/b"));
  EXPECT_EQ(bad({"app", "--lane", "/a", "--lane", "/a/"}), "--lane: '/a' has a lane already");
}

TEST(Parse, LanesInTheVariableAreSeparatedBySpaces) {
  const auto got = good({"app"}, {{"M0_LANE", "  /a,threads=1,queue=5\n /b\t/c,threads=2 "}}).config.server.lanes;
  EXPECT_THAT(prefixes(got), ElementsAre("/a", "/b", "/c"));
  EXPECT_EQ(got[0].lane.queue, 5U);
  EXPECT_EQ(got[2].lane.threads, 2U);
  EXPECT_THAT(good({"app"}, {{"M0_LANE", " "}}).config.server.lanes, ElementsAre());
  EXPECT_EQ(bad({"app"}, {{"M0_LANE", "/a b"}}), "M0_LANE: 'b': a prefix begins with a slash");
  EXPECT_THAT(prefixes(good({"app", "--lane", "/x"}, {{"M0_LANE", "/a"}}).config.server.lanes), ElementsAre("/x"));
}

TEST(Parse, ASlashAtTheEndOfAPrefixIsForgiven) {
  EXPECT_EQ(lane_of("/a/,threads=1").lane.name, "/a");
  EXPECT_EQ(good({"app", "--mount", "/shop/=shop.wsgi"}).config.server.mounts.at(1).prefix, "/shop");
  EXPECT_EQ(bad({"app", "--lane", "/a//"}), "--lane: '/a//': a prefix ends without a slash");
}

TEST(Parse, TheRootIsNoPrefixOfALaneOrAMount) {
  EXPECT_EQ(bad({"app", "--lane", "/,threads=2"}),
            "--lane: '/' is the whole application: its threads are set by --blocking-threads, --max-blocking-threads, "
            "--queue and --queue-timeout");
  EXPECT_EQ(bad({"app", "--mount", "/=shop.wsgi"}),
            "--mount: '/' is the whole application: name it alone, without --mount");
}

TEST(Parse, ABadLaneIsASentence) {
  const auto lane = [](const std::string& text) { return bad({"app", "--lane=" + text}); };
  EXPECT_EQ(lane(""), "--lane needs a value");
  EXPECT_EQ(lane(",threads=2"), "--lane: the prefix is missing: it is a path such as /reports");
  EXPECT_EQ(lane("threads=2"), "--lane: 'threads=2': a prefix begins with a slash");
  EXPECT_EQ(lane("/a%20b"), "--lane: '/a%20b': a prefix is written decoded, without %");
  EXPECT_EQ(lane("/a/../b"), "--lane: '/a/../b': a prefix has no empty segments, and none that is . or ..");
  EXPECT_EQ(lane("/a,thread=2"), "--lane: 'thread=2' is none of threads=N, max-threads=M, queue=N, queue-timeout=TIME");
  EXPECT_EQ(lane("/a,,threads=2"), "--lane: '' is none of threads=N, max-threads=M, queue=N, queue-timeout=TIME");
  EXPECT_EQ(lane("/a,threads"), "--lane: threads: '' is not a whole number");
  EXPECT_EQ(lane("/a,threads=two"), "--lane: threads: 'two' is not a whole number");
  EXPECT_EQ(lane("/a,threads=0"), "--lane: threads: 1 is the least it can be");
  EXPECT_EQ(lane("/a,max-threads=5000"), "--lane: max-threads: 4096 is the most it can be");
  EXPECT_EQ(lane("/a,queue=1000001"), "--lane: queue: 1000000 is the most it can be");
  EXPECT_EQ(lane("/a,threads=1,threads=2"), "--lane: threads: it is said twice");
  EXPECT_EQ(lane("/a,queue-timeout=1s,queue-timeout=1s"), "--lane: queue-timeout: it is said twice");
  EXPECT_THAT(lane("/a,queue-timeout=x"), StartsWith("--lane: queue-timeout: 'x' is not a time"));
  EXPECT_EQ(lane("/a,queue-timeout=25h"), "--lane: queue-timeout: 1d is the most it can be");
  EXPECT_THAT(bad({"app", "--lane"}), HasSubstr("--lane needs a value"));
}

TEST(Parse, MountsAreCountedFromTheApplication) {
  const Invocation got =
      good({"app", "--mount", "/shop=shop.wsgi", "--mount", "/a=b=one:two.three,threads=2,max-threads=4"});
  const auto& mounts = got.config.server.mounts;
  ASSERT_EQ(mounts.size(), 3U);
  EXPECT_EQ(mounts[0].prefix, "");
  EXPECT_EQ(mounts[0].target, 0);
  EXPECT_EQ(mounts[1].prefix, "/shop");
  EXPECT_EQ(mounts[1].target, 1);
  EXPECT_FALSE(mounts[1].lane);
  EXPECT_EQ(mounts[2].prefix, "/a=b");
  EXPECT_EQ(mounts[2].target, 2);
  ASSERT_TRUE(mounts[2].lane);
  EXPECT_EQ(mounts[2].lane->name, "/a=b");
  EXPECT_EQ(mounts[2].lane->threads, 2U);
  EXPECT_EQ(mounts[2].lane->max_threads, 4U);
  EXPECT_THAT(got.python.mounts, ElementsAre("shop.wsgi", "one:two.three"));
  EXPECT_EQ(got.python.application, "app");
}

TEST(Parse, AnyWordGivesAMountALane) {
  for (const char* word : {"threads=1", "max-threads=1", "queue=1", "queue-timeout=1s"}) {
    const Words words{"app", "--mount", std::string("/shop=shop.wsgi,") + word};
    EXPECT_TRUE(good(words).config.server.mounts.at(1).lane) << word;
  }
}

TEST(Parse, MountsInTheVariableAreSeparatedBySpaces) {
  const Invocation got = good({"app"}, {{"M0_MOUNT", "/a=one,threads=1 /b=two"}});
  EXPECT_THAT(got.python.mounts, ElementsAre("one", "two"));
  EXPECT_EQ(got.config.server.mounts.at(2).target, 2);
  EXPECT_THAT(bad({"app"}, {{"M0_MOUNT", "/a=one /a=two"}}),
              StartsWith("M0_MOUNT: something is mounted at '/a' already"));
}

TEST(Parse, ABadMountIsASentence) {
  const auto mount = [](const std::string& text) { return bad({"app", "--mount=" + text}); };
  EXPECT_EQ(mount("/shop"),
            "--mount: '/shop' names no application: write PREFIX=MODULE[:ATTR], such as /shop=shop.wsgi");
  EXPECT_THAT(mount("shop.wsgi"), StartsWith("--mount: 'shop.wsgi' names no application"));
  EXPECT_EQ(mount("/shop="), "--mount: MODULE is missing: write /shop=MODULE[:ATTR]");
  EXPECT_EQ(mount("/shop=,threads=2"), "--mount: MODULE is missing: write /shop=MODULE[:ATTR]");
  EXPECT_EQ(mount("/shop=:app"), "--mount: ':app' is not MODULE[:ATTR]");
  EXPECT_EQ(mount("/shop=src/shop.py"), "--mount: 'src/shop.py' is a file: name its module, shop");
  EXPECT_EQ(mount("shop=shop.wsgi"), "--mount: 'shop': a prefix begins with a slash");
  EXPECT_EQ(mount("=shop.wsgi"), "--mount: the prefix is missing: it is a path such as /reports");
  EXPECT_EQ(mount("/shop=shop.wsgi,colour=red"),
            "--mount: 'colour=red' is none of threads=N, max-threads=M, queue=N, queue-timeout=TIME");
  EXPECT_EQ(bad({"app", "--mount", "/a=one", "--mount", "/a/=two"}), "--mount: something is mounted at '/a' already");
}

TEST(Parse, APrefixHasOneLane) {
  EXPECT_EQ(bad({"app", "--mount", "/a=one,threads=1", "--lane", "/a,threads=2"}),
            "'/a' has a lane from --mount and another from --lane: leave one of them out");
  EXPECT_THAT(prefixes(good({"app", "--mount", "/a=one", "--lane", "/a"}).config.server.lanes), ElementsAre("/a"));
}

TEST(Parse, ThereIsAnEndToPrefixes) {
  Words words{"app"};
  for (int i = 0; i < 1001; ++i) words.insert(words.end(), {"--lane", fmt::format("/{}", i)});
  EXPECT_EQ(bad(words), "--lane: 1000 is the most there can be");
  words.resize(words.size() - 2);
  EXPECT_EQ(good(words).config.server.lanes.size(), 1000U);
}

TEST(Parse, ANativeProgramHasLanesAndNoMount) {
  EXPECT_THAT(prefixes(good({"--lane", "/a"}, {}, Door::Native).config.server.lanes), ElementsAre("/a"));
  EXPECT_THAT(bad({"--mount", "/a=b"}, {}, Door::Native), StartsWith("unknown option --mount"));
}

// -- limits, timeouts, logs

TEST(Parse, EveryLimitReachesItsMember) {
  const server::Config got =
      good({"app", "--max-connections", "11", "--max-body", "12m", "--max-line", "13k", "--max-head", "14k",
            "--max-fields", "15", "--queue", "16", "--body-memory", "17m", "--body-disk", "18g"})
          .config.server;
  EXPECT_EQ(got.max_connections, 11U);
  EXPECT_EQ(got.limits.max_body, 12ULL << 20U);
  EXPECT_EQ(got.limits.max_line, 13U << 10U);
  EXPECT_EQ(got.limits.max_head, 14U << 10U);
  EXPECT_EQ(got.limits.max_fields, 15U);
  EXPECT_EQ(got.lane.queue, 16U);
  EXPECT_EQ(got.body_memory, 17ULL << 20U);
  EXPECT_EQ(got.body_disk, 18ULL << 30U);
}

TEST(Parse, EveryTimeoutReachesItsMember) {
  const server::Timeouts got = good({"app", "--head-timeout", "1s", "--body-timeout", "2s", "--idle-timeout", "3s",
                                     "--write-timeout", "4s", "--graceful-timeout", "5s"})
                                   .config.server.timeouts;
  EXPECT_EQ(got.head, 1s);
  EXPECT_EQ(got.body, 2s);
  EXPECT_EQ(got.idle, 3s);
  EXPECT_EQ(got.write, 4s);
  EXPECT_EQ(got.graceful, 5s);
}

TEST(Parse, ATimeoutOfNothingIsRefusedExceptAtTheStop) {
  EXPECT_EQ(bad({"app", "--head-timeout", "0"}), "--head-timeout: 1ms is the least it can be");
  EXPECT_EQ(bad({"app", "--idle-timeout", "25h"}), "--idle-timeout: 1d is the most it can be");
  EXPECT_EQ(good({"app", "--graceful-timeout", "0"}).config.server.timeouts.graceful, 0s);
}

TEST(Parse, BacklogReachesItsMember) {
  EXPECT_EQ(good({"app", "--backlog", "77"}).config.backlog, 77);
  EXPECT_EQ(bad({"app", "--backlog", "0"}), "--backlog: 1 is the least it can be");
}

TEST(Parse, Logs) {
  const process::Config got =
      good({"app", "--access-log", "-", "--access-log-format", "json", "--log-level", "debug"}).config;
  EXPECT_EQ(got.server.access_log, "-");
  EXPECT_EQ(got.server.access_log_format, server::AccessLogFormat::Json);
  EXPECT_EQ(got.log_level, base::LogLevel::Debug);
  EXPECT_EQ(good({"app", "--access-log-format", "combined"}, {{"M0_ACCESS_LOG_FORMAT", "json"}})
                .config.server.access_log_format,
            server::AccessLogFormat::Combined);
  EXPECT_THAT(bad({"app", "--log-level", "loud"}), HasSubstr("none of debug, info"));
  EXPECT_THAT(bad({"app", "--access-log-format", "xml"}), HasSubstr("neither combined nor json"));
}

// -- precedence and mistakes

TEST(Parse, FlagBeatsVariableBeatsDefault) {
  EXPECT_EQ(good({"app"}).config.server.limits.max_fields, 100U);
  EXPECT_EQ(good({"app"}, {{"M0_MAX_FIELDS", "7"}}).config.server.limits.max_fields, 7U);
  EXPECT_EQ(good({"app", "--max-fields", "9"}, {{"M0_MAX_FIELDS", "7"}}).config.server.limits.max_fields, 9U);
}

TEST(Parse, AFlagHidesAVariableThatIsWrong) {
  EXPECT_EQ(good({"app", "--max-fields", "9"}, {{"M0_MAX_FIELDS", "x"}}).config.server.limits.max_fields, 9U);
}

TEST(Parse, AnEmptyVariableIsNone) {
  EXPECT_EQ(good({"app"}, {{"M0_WORKERS", ""}, {"WEB_CONCURRENCY", ""}, {"PORT", ""}}).config.workers, 1U);
}

TEST(Parse, AVariableThatIsWrongIsNamed) {
  EXPECT_EQ(bad({"app"}, {{"M0_MAX_BODY", "lots"}}), "M0_MAX_BODY: 'lots' is not a size: write 512, 64k, 64m or 1g");
  EXPECT_EQ(bad({"app"}, {{"M0_PRELOAD", "maybe"}}), "M0_PRELOAD: 'maybe' is neither true nor false");
}

TEST(Parse, TheLastOfAFlagCounts) { EXPECT_EQ(good({"app", "-w", "2", "--workers=3"}).config.workers, 3U); }

TEST(Parse, ASwitchMayBeSwitchedOff) {
  EXPECT_FALSE(good({"app", "--preload=false"}, {{"M0_PRELOAD", "1"}}).config.preload);
  EXPECT_EQ(bad({"app", "--preload=maybe"}), "--preload: 'maybe' is neither true nor false");
  EXPECT_TRUE(good({"app", "--preload", "--preload"}).config.preload);
}

TEST(Parse, AnUnknownFlagIsToldItsNeighbour) {
  EXPECT_EQ(bad({"app", "--blocking-thread", "4"}),
            "unknown option --blocking-thread: did you mean --blocking-threads?");
  EXPECT_EQ(bad({"app", "--threads=4"}), "unknown option --threads: did you mean --blocking-threads?");
  EXPECT_EQ(bad({"--wrokers", "2", "app"}), "unknown option --wrokers: did you mean --workers?");
  EXPECT_EQ(bad({"app", "--frobnicate"}), "unknown option --frobnicate: m0serve --help lists them");
  EXPECT_EQ(bad({"app", "-x"}), "unknown option -x: m0serve --help lists them");
}

TEST(Parse, AFlagIsNotShortenedInSilence) { EXPECT_THAT(bad({"app", "--work", "2"}), HasSubstr("unknown option")); }

TEST(Parse, AForgottenValueIsNamed) {
  EXPECT_EQ(bad({"app", "--bind"}), "--bind needs a value");
  EXPECT_EQ(bad({"--workers"}), "--workers needs a value");
  EXPECT_EQ(bad({"app", "--app-dir", "--factory"}), "--app-dir needs a value");
}

// -- help, version, the other door

TEST(Parse, HelpGoesToStandardOutputAndWinsOverMistakes) {
  for (const Words& words : {Words{"--help"}, Words{"-h"}, Words{"app", "--help"}, Words{"--help", "--frobnicate"},
                             Words{"a", "b", "--help"}, Words{"top", "--help"}}) {
    const auto parsed = run(words);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, 0);
    EXPECT_TRUE(parsed.error().to_stdout);
    EXPECT_THAT(parsed.error().text, StartsWith("Usage: m0serve [OPTIONS] MODULE[:ATTR]\n"));
  }
}

TEST(Parse, Version) {
  const auto parsed = run({"--version"});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, 0);
  EXPECT_TRUE(parsed.error().to_stdout);
  EXPECT_EQ(parsed.error().text, "m0serve " M0_VERSION "\n");
}

TEST(Parse, ANativeProgramHasNoApplicationToName) {
  EXPECT_EQ(good({"--workers", "2"}, {}, Door::Native).config.workers, 2U);
  EXPECT_EQ(bad({"app"}, {}, Door::Native), "'app' is one word too many");
  EXPECT_THAT(bad({"--factory"}, {}, Door::Native), StartsWith("unknown option --factory"));
}

TEST(Parse, ANativeProgramsHelpHasNoPython) {
  const auto parsed = run({"--help"}, {}, Door::Native);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().text.find("Python"), std::string::npos);
  EXPECT_EQ(parsed.error().text.find("--switch-interval"), std::string::npos);
  EXPECT_THAT(parsed.error().text, HasSubstr("--bind"));
}

TEST(Parse, TakesTheProgramsNameFromTheWords) {
  std::string name = "/usr/bin/mine";
  std::string flag = "--no-such";
  char* argv[] = {name.data(), flag.data(), nullptr};
  const auto parsed = parse(2, argv, [](const char*) { return nullptr; });
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().text, StartsWith("mine: unknown option --no-such"));
}

}  // namespace
}  // namespace m0::cli
