#include "m0/process/control_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace m0::process {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The other end, which never waits: all that it is to get is there after a turn.
class Peer {
 public:
  explicit Peer(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
    connected_ = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  }

  [[nodiscard]] bool connected() const { return connected_; }
  void say(std::initializer_list<std::string_view> fields) {
    say_bytes(encode_message({fields.begin(), fields.size()}));
  }
  void say_bytes(const std::string& bytes) {
    ASSERT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void say_no_more() { ::shutdown(socket_.get(), SHUT_WR); }
  void leave() { socket_.reset(); }

  /// The next answer; empty: there is none yet.
  ControlFields hear() {
    read_all();
    auto fields = reader_.next();
    EXPECT_TRUE(fields);
    return fields && *fields ? std::move(**fields) : ControlFields{};
  }
  std::string hear_status() {
    const ControlFields said = hear();
    return said.empty() ? "" : said.front();
  }
  bool ended() {
    read_all();
    return ended_;
  }

 private:
  void read_all() {
    std::array<char, 4096> piece{};
    ssize_t got = 0;
    while ((got = ::recv(socket_.get(), piece.data(), piece.size(), 0)) > 0) {
      reader_.feed({piece.data(), static_cast<std::size_t>(got)});
    }
    ended_ = ended_ || got == 0 || (errno != EAGAIN && errno != EINTR);
  }

  base::Fd socket_;
  bool connected_ = false;
  bool ended_ = false;
  MessageReader reader_{1 << 20};
};

// What the verb "later" waits for.
bool g_now = false;
int g_asked = 0;

ControlTask later(const ControlContext&, ControlFields&& arguments) {
  return [what = std::move(arguments)](bool last) -> std::optional<ControlAnswer> {
    ++g_asked;
    if (g_now) return ControlAnswer{true, what};
    return last && what[0] == "partial" ? std::optional(ControlAnswer{true, {"part"}}) : std::nullopt;
  };
}
ControlTask large(const ControlContext&, ControlFields&&) {
  return [](bool) { return std::optional(ControlAnswer{true, {std::string(4 << 20, 'x')}}); };
}
constexpr std::array kTestVerbs{ControlVerb{"later", 1, later}, ControlVerb{"large", 0, large}};

class ControlServerTest : public ::testing::Test {
 protected:
  ControlServerTest() {
    g_now = false;
    g_asked = 0;
    std::string made = std::filesystem::temp_directory_path() / "m0-control-XXXXXX";
    if (::mkdtemp(made.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = made;
  }
  ~ControlServerTest() override {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }

  void start(std::span<const ControlVerb> verbs = control_verbs(), std::optional<uid_t> owner = std::nullopt) {
    Config config;
    config.control = path();
    auto socket = open_control(config, {});
    ASSERT_TRUE(socket && *socket);
    if (owner) (*socket)->access.owner = *owner;
    server_ = std::make_unique<ControlServer>(std::move(**socket), log_, verbs);
  }
  [[nodiscard]] std::string path() const { return directory_ + "/s"; }
  void turn() { server_->turn(now_); }
  void turn_after(base::Duration time) {
    now_ += time;
    turn();
  }
  bool wakes(int within_ms) {
    pollfd ready{server_->fd(), POLLIN, 0};
    return ::poll(&ready, 1, within_ms) == 1;
  }

  std::string directory_;
  pubsub::EventLog log_{{.size = pubsub::kMinLogSize}};
  std::unique_ptr<ControlServer> server_;
  base::Instant now_ = base::now();
};

TEST_F(ControlServerTest, APublishGivesTheIdOfItsEvent) {
  start();
  Peer peer(path());
  peer.say({"publish", "news", "it rains", "weather", "binary"});
  EXPECT_TRUE(wakes(0));
  turn();
  EXPECT_EQ(peer.hear(), (ControlFields{"ok", pubsub::to_text({log_.epoch(), 1})}));
  pubsub::Record record;
  ASSERT_EQ(log_.read(log_.tail(), record), pubsub::EventLog::Read::Ok);
  EXPECT_EQ(record.channel(), "news");
  EXPECT_EQ(record.data(), "it rains");
  EXPECT_EQ(record.name(), "weather");
  EXPECT_TRUE(record.binary());
  EXPECT_FALSE(record.control());
  EXPECT_FALSE(wakes(0)) << "nothing is left to do";
}

TEST_F(ControlServerTest, SeveralRequestsOnOneConnection) {
  start();
  Peer peer(path());
  constexpr std::size_t kCount = 100;  // more than one turn takes
  for (std::size_t i = 0; i < kCount; ++i) peer.say({"publish", "a", "x", "", "text"});
  peer.say_no_more();
  for (std::size_t i = 1; i <= kCount; ++i) {
    ControlFields said;
    while ((said = peer.hear()).empty()) {
      ASSERT_TRUE(wakes(1000));
      turn();
    }
    EXPECT_EQ(said, (ControlFields{"ok", pubsub::to_text({log_.epoch(), i})}));
  }
  turn();
  EXPECT_TRUE(peer.ended());
  EXPECT_EQ(server_->clients(), 0u);
}

TEST_F(ControlServerTest, WhatCannotBePublishedIsSaid) {
  start();
  Peer peer(path());
  const std::string too_large(log_.largest_event(), 'x');
  const auto refused = [&](std::initializer_list<std::string_view> request, std::string_view why) {
    peer.say(request);
    turn();
    const ControlFields said = peer.hear();
    ASSERT_EQ(said.size(), 2u);
    EXPECT_EQ(said[0], "error");
    EXPECT_THAT(said[1], ::testing::HasSubstr(why));
  };
  refused({"publish", "", "x", "", "text"}, "the channel is empty");
  refused({"publish", "a\nb", "x", "", "text"}, "the channel has a control character");
  refused({"publish", "a", "x", "e\ndata: forged", "text"}, "the event's name has a control character");
  refused({"publish", "a", "x", "", "picture"}, "neither text nor binary");
  refused({"publish", "a", too_large, "", "text"}, "--max-event");
  refused({"publish", "a", "x"}, "takes 4 arguments, not 2");
  refused({"sing"}, "does not know");
  EXPECT_EQ(log_.last_seq(), 0u);
  peer.say({"publish", "a", "x", "", "text"});
  turn();
  EXPECT_EQ(peer.hear_status(), "ok") << "the connection goes on";
}

TEST_F(ControlServerTest, WhatIsMalformedOrTooLargeIsAnsweredAndClosed) {
  start();
  std::string too_large("\0\x01\0\0", 4);
  too_large.append(100, 'x');
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\0\0\0\x01x", 5), too_large}) {
    Peer peer(path());
    peer.say_bytes(bytes);
    turn();
    EXPECT_EQ(peer.hear_status(), "error");
    EXPECT_TRUE(peer.ended());
  }
  EXPECT_EQ(server_->clients(), 0u);
}

TEST_F(ControlServerTest, ARequestThatCannotBeDoneYetIsTriedAgain) {
  start(kTestVerbs);
  Peer peer(path());
  peer.say({"later", "x"});
  turn();
  EXPECT_TRUE(peer.hear().empty());
  EXPECT_TRUE(wakes(1000)) << "by its timer";
  turn_after(milliseconds(900));
  EXPECT_EQ(g_asked, 2);
  g_now = true;
  turn_after(milliseconds(1));
  EXPECT_EQ(peer.hear(), (ControlFields{"ok", "x"}));
}

TEST_F(ControlServerTest, AndAnsweredAfterASecondWhateverIsThere) {
  start(kTestVerbs);
  Peer nothing(path());
  Peer partial(path());
  nothing.say({"later", "x"});
  partial.say({"later", "partial"});
  turn();
  turn_after(milliseconds(999));
  EXPECT_TRUE(nothing.hear().empty());
  EXPECT_TRUE(partial.hear().empty());
  turn_after(milliseconds(1));
  EXPECT_EQ(nothing.hear_status(), "error");
  EXPECT_EQ(partial.hear(), (ControlFields{"ok", "part"}));
}

TEST_F(ControlServerTest, WhoLeavesMeanwhileIsForgotten) {
  start(kTestVerbs);
  Peer peer(path());
  peer.say({"later", "x"});
  turn();
  peer.leave();
  turn_after(milliseconds(1));
  EXPECT_EQ(server_->clients(), 0u);
}

TEST_F(ControlServerTest, WhoLeavesAtOnceIsHeardAllTheSame) {
  start();
  Peer peer(path());
  peer.say({"publish", "a", "x", "", "text"});
  peer.leave();
  turn();
  turn();
  EXPECT_EQ(log_.last_seq(), 1u);
  EXPECT_EQ(server_->clients(), 0u);
}

TEST_F(ControlServerTest, HalfARequestIsNotWaitedForLonger) {
  start();
  Peer peer(path());
  peer.say_bytes(std::string("\0\0\0", 3));
  turn();
  turn_after(seconds(5) - milliseconds(1));
  peer.say_bytes("\x10");  // a byte now and then gains nothing
  turn();
  EXPECT_EQ(server_->clients(), 1u);
  turn_after(milliseconds(1));
  EXPECT_EQ(server_->clients(), 0u);
  EXPECT_TRUE(peer.ended());
}

TEST_F(ControlServerTest, AnAnswerThatNobodyTakesIsDropped) {
  start(kTestVerbs);
  Peer peer(path());
  peer.say({"large"});
  turn();
  turn_after(seconds(5) - milliseconds(1));
  EXPECT_EQ(server_->clients(), 1u);
  turn_after(milliseconds(1));
  EXPECT_EQ(server_->clients(), 0u);
}

TEST_F(ControlServerTest, MoreClientsThanThereArePlacesWait) {
  start();
  std::vector<std::unique_ptr<Peer>> peers;
  peers.push_back(std::make_unique<Peer>(path()));
  turn();
  // All at once, and no whole number of turns.
  for (std::size_t i = 0; i < ControlServer::kMostClients; ++i) peers.push_back(std::make_unique<Peer>(path()));
  while (wakes(0)) turn();
  EXPECT_EQ(server_->clients(), ControlServer::kMostClients);
  peers.back()->say({"publish", "a", "x", "", "text"});
  turn();
  EXPECT_TRUE(peers.back()->hear().empty());
  EXPECT_FALSE(wakes(0)) << "a full house is no reason to wake";
  peers.front()->leave();
  turn();
  turn();
  EXPECT_EQ(peers.back()->hear_status(), "ok");
}

TEST_F(ControlServerTest, AnotherUserIsRefusedWhateverTheMode) {
  const bool root = ::geteuid() == 0;  // root may always: then it is a child who is somebody else
  start(control_verbs(), root ? ::geteuid() : ::geteuid() + 1);
  ASSERT_EQ(::chmod(path().c_str(), 0666), 0);
  ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (root && ::setuid(65534) != 0) ::_exit(1);
    Peer peer(path());
    peer.say({"publish", "a", "x", "", "text"});
    const bool told = ::write(ends[1], "x", 1) == 1;
    for (int i = 0; told && i < 5000 && !peer.ended(); ++i) ::usleep(1000);
    ::_exit(peer.connected() && peer.hear().empty() && peer.ended() ? 0 : 2);
  }
  char told = 0;
  ASSERT_EQ(::read(ends[0], &told, 1), 1);
  turn();
  turn();
  EXPECT_EQ(server_->clients(), 0u);
  EXPECT_EQ(log_.last_seq(), 0u);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(ControlServerTest, AStopFreesThePathAndServesOn) {
  start(kTestVerbs);
  Peer peer(path());
  peer.say({"later", "x"});
  turn();
  server_->stop_listening();
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_FALSE(Peer(path()).connected());
  g_now = true;
  turn_after(milliseconds(1));
  EXPECT_EQ(peer.hear(), (ControlFields{"ok", "x"}));
}

TEST_F(ControlServerTest, WatchesForWhoeverWaitsOnIt) {
  start();
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  server_->watch(ends[0]);
  EXPECT_FALSE(wakes(0));
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  EXPECT_TRUE(wakes(0));
  turn();
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace m0::process
