#include "m0/net/listener.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace m0::net {
namespace {

using ::testing::HasSubstr;

std::expected<std::vector<Listener>, std::string> open_texts(const std::vector<std::string>& texts,
                                                             const ListenOptions& options = {}) {
  std::vector<BindAddress> addresses;
  for (const std::string& text : texts) addresses.push_back(parse_bind_address(text).value());
  return open_listeners(addresses, options);
}

std::string sentence_of(const std::vector<std::string>& texts) {
  const auto opened = open_texts(texts);
  EXPECT_FALSE(opened);
  return opened ? "" : opened.error();
}

bool connects(const SocketAddress& to) {
  const base::Fd client(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(client.get(), to.get(), to.size) == 0;
}

bool connects(const std::string& text) { return connects(resolve(parse_bind_address(text).value()).value().front()); }

bool has_ipv6() {
  const base::Fd probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  return probe && ::bind(probe.get(), reinterpret_cast<sockaddr*>(&loopback), sizeof loopback) == 0;
}

TEST(Listener, TellsThePortThatZeroBecame) {
  const auto opened = open_texts({"127.0.0.1:0"});
  ASSERT_TRUE(opened) << opened.error();
  const BindAddress& at = opened->front().address();
  EXPECT_NE(at.port, 0);
  EXPECT_EQ(opened->front().url(), "http://127.0.0.1:" + std::to_string(at.port));
  EXPECT_TRUE(connects(at.text()));
}

TEST(Listener, OpensSeveral) {
  const auto opened = open_texts({"127.0.0.1:0", "127.0.0.1:0", "127.0.0.2:0"});
  ASSERT_TRUE(opened) << opened.error();
  ASSERT_EQ(opened->size(), 3U);
  for (const Listener& listener : *opened) EXPECT_TRUE(connects(listener.address().text()));
}

TEST(Listener, DescriptorsAreNonBlockingAndNotInherited) {
  const auto opened = open_texts({"127.0.0.1:0"});
  ASSERT_TRUE(opened);
  EXPECT_NE(::fcntl(opened->front().fd(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(opened->front().fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Listener, EveryInterfaceServesBothProtocols) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 on this machine";
  for (const char* text : {":0", "[::]:0"}) {
    const auto opened = open_texts({text});
    ASSERT_TRUE(opened) << opened.error();
    const std::string port = std::to_string(opened->front().address().port);
    EXPECT_TRUE(connects("127.0.0.1:" + port));
    EXPECT_TRUE(connects("[::1]:" + port));
  }
}

TEST(Listener, EveryInterfaceOfEachProtocolCanBeNamedByItself) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 on this machine";
  std::string port;
  {
    const auto free = open_texts({":0"});
    ASSERT_TRUE(free);
    port = std::to_string(free->front().address().port);
  }
  const auto opened = open_texts({"[::]:" + port, "0.0.0.0:" + port});
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_EQ(opened->size(), 2U);
  EXPECT_TRUE(connects("[::1]:" + port));
  EXPECT_TRUE(connects("127.0.0.1:" + port));
}

TEST(Listener, TheAddressesOfANameShareAPort) {
  const auto opened = open_texts({"localhost:0"});
  ASSERT_TRUE(opened) << opened.error();
  for (const Listener& listener : *opened) {
    EXPECT_EQ(listener.address().port, opened->front().address().port);
    EXPECT_TRUE(connects(listener.address().text()));
  }
}

TEST(Listener, APortInUseIsASentence) {
  const auto first = open_texts({"127.0.0.1:0"});
  ASSERT_TRUE(first);
  const std::string where = first->front().address().text();
  EXPECT_EQ(sentence_of({where}), where + " is in use by another program: stop it, or choose another --bind");
}

TEST(Listener, APortIsFreeAtOnceAfterAServerWithConnectionsStopped) {
  auto first = open_texts({"127.0.0.1:0"});
  ASSERT_TRUE(first);
  const std::string where = first->front().address().text();
  {  // the server's side closes first and waits in TIME_WAIT
    const SocketAddress to = resolve(first->front().address()).value().front();
    const base::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(client.get(), to.get(), to.size), 0);
    base::Fd server;
    while (!server) server = base::Fd(::accept(first->front().fd(), nullptr, nullptr));
    server.reset();
    char byte = 0;
    EXPECT_EQ(::read(client.get(), &byte, 1), 0);
  }
  first->clear();
  const auto second = open_texts({where});
  EXPECT_TRUE(second) << second.error();
}

TEST(Listener, AnAddressThatIsNotOursIsASentence) {
  EXPECT_THAT(sentence_of({"192.0.2.1:0"}), HasSubstr("no interface of this machine has that address"));
}

TEST(Listener, NamingOneAddressTwiceIsASentence) {
  EXPECT_THAT(sentence_of({"127.0.0.1:9", "127.0.0.1:9"}), HasSubstr("named twice"));
}

TEST(Listener, OneFailureClosesTheRest) {
  const auto taken = open_texts({"127.0.0.1:0"});
  ASSERT_TRUE(taken);
  const std::string directory = std::filesystem::temp_directory_path() / "m0-listener-rest.sock";
  EXPECT_NE(sentence_of({"unix:" + directory, taken->front().address().text()}), "");
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(Listener, AMovedListenerKeepsListening) {
  auto opened = open_texts({"127.0.0.1:0"});
  ASSERT_TRUE(opened);
  const std::string where = opened->front().address().text();
  Listener moved = std::move(opened->front());
  opened->clear();
  EXPECT_TRUE(connects(where));
  moved.close();
  EXPECT_FALSE(connects(where));
}

class UnixListener : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = (std::filesystem::temp_directory_path() / "m0-unix-XXXXXX").string();
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/app.sock";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// A socket file that nobody listens to.
  void leave_stale() const {
    const base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress at = resolve({"", 0, path_}).value().front();
    ASSERT_EQ(::bind(socket.get(), at.get(), at.size), 0);
  }

  std::string directory_;
  std::string path_;
};

TEST_F(UnixListener, ListensAndRemovesItsFile) {
  auto opened = open_texts({"unix:" + path_});
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_EQ(opened->front().url(), "unix:" + path_);
  EXPECT_TRUE(connects("unix:" + path_));
  opened->clear();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UnixListener, ItsModeIsTheOneAskedForWhateverTheUmask) {
  for (const mode_t mask : {0022, 0077, 0}) {
    const mode_t before = ::umask(mask);
    for (const mode_t mode : {0666, 0600, 0660}) {
      const auto opened = open_texts({"unix:" + path_}, {.backlog = 8, .unix_mode = mode});
      struct stat what{};
      EXPECT_EQ(::lstat(path_.c_str(), &what), 0);
      EXPECT_EQ(what.st_mode & 07777U, mode);
      EXPECT_EQ(::umask(mask), mask) << "the umask is as it was";
    }
    ::umask(before);
  }
}

TEST_F(UnixListener, ReplacesAStaleSocket) {
  leave_stale();
  const auto opened = open_texts({"unix:" + path_});
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_TRUE(connects("unix:" + path_));
}

TEST_F(UnixListener, NeverReplacesALiveOne) {
  const auto first = open_texts({"unix:" + path_});
  ASSERT_TRUE(first);
  EXPECT_THAT(sentence_of({"unix:" + path_}), HasSubstr("is in use by a running server"));
  EXPECT_TRUE(connects("unix:" + path_));
}

TEST_F(UnixListener, NeverReplacesALiveOneWhoseBacklogIsFull) {
  const auto first = open_texts({"unix:" + path_}, {.backlog = 0});
  ASSERT_TRUE(first);
  const SocketAddress at = resolve({"", 0, path_}).value().front();
  std::vector<base::Fd> waiting;
  for (int i = 0; i < 100; ++i) {
    waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(waiting.back().get(), at.get(), at.size) != 0) break;
  }
  ASSERT_EQ(errno, EAGAIN);
  EXPECT_THAT(sentence_of({"unix:" + path_}), HasSubstr("is in use by a running server"));
}

TEST_F(UnixListener, NeverReplacesALiveSocketOfAnotherKind) {
  const base::Fd datagrams(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress at = resolve({"", 0, path_}).value().front();
  ASSERT_EQ(::bind(datagrams.get(), at.get(), at.size), 0);
  EXPECT_THAT(sentence_of({"unix:" + path_}), HasSubstr("in use"));
}

TEST_F(UnixListener, NeverReplacesAPlainFileOrALink) {
  {
    std::ofstream(path_) << "precious";
  }
  EXPECT_THAT(sentence_of({"unix:" + path_}), HasSubstr("exists and is not a socket"));
  std::filesystem::create_symlink(path_, directory_ + "/link");
  EXPECT_THAT(sentence_of({"unix:" + directory_ + "/link"}), HasSubstr("exists and is not a socket"));
  std::string content;
  std::ifstream(path_) >> content;
  EXPECT_EQ(content, "precious");
}

TEST_F(UnixListener, BadPathsAreSentences) {
  EXPECT_THAT(sentence_of({"unix:" + directory_ + "/no/app.sock"}), HasSubstr("its directory does not exist"));
  {
    std::ofstream(directory_ + "/file") << "x";
  }
  EXPECT_THAT(sentence_of({"unix:" + directory_ + "/file/app.sock"}), HasSubstr("is not a directory"));
}

TEST_F(UnixListener, AnInheritedCopyRemovesNothing) {
  auto opened = open_texts({"unix:" + path_});
  ASSERT_TRUE(opened);
  const pid_t child = ::fork();
  if (child == 0) {
    opened->clear();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(connects("unix:" + path_));
}

TEST_F(UnixListener, AFileThatIsNoLongerOursStays) {
  auto opened = open_texts({"unix:" + path_});
  ASSERT_TRUE(opened);
  ASSERT_EQ(::rename(path_.c_str(), (path_ + ".old").c_str()), 0);  // keeps the inode from being used again
  leave_stale();
  opened->clear();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(UnixListener, ARelativePathIsRemovedFromAnyDirectory) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  auto opened = open_texts({"unix:app.sock"});
  std::filesystem::current_path(before);
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_TRUE(std::filesystem::exists(path_));
  opened->clear();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UnixListener, OfManyThatStartAtOnceExactlyOneWins) {
  for (int round = 0; round < 25; ++round) {
    leave_stale();
    int go[2];
    int hold[2];
    ASSERT_EQ(::pipe(go), 0);
    ASSERT_EQ(::pipe(hold), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        char byte = 0;
        ::close(go[1]);
        ::close(hold[1]);
        static_cast<void>(!::read(go[0], &byte, 1));
        const auto opened = open_texts({"unix:" + path_});
        if (!opened) ::_exit(1);
        static_cast<void>(!::read(hold[0], &byte, 1));  // the winner stays until all have tried
        ::_exit(0);
      }
      children.push_back(child);
    }
    ::close(go[0]);
    ::close(go[1]);
    ::close(hold[0]);
    int won = 0;
    for (std::size_t left = children.size(); left > 1; --left) {
      int status = -1;
      ASSERT_GT(::wait(&status), 0);
      won += status == 0 ? 1 : 0;
    }
    EXPECT_TRUE(connects("unix:" + path_));
    ::close(hold[1]);
    int status = -1;
    ASSERT_GT(::wait(&status), 0);
    won += status == 0 ? 1 : 0;
    EXPECT_EQ(won, 1);
    std::filesystem::remove(path_);
  }
}

}  // namespace
}  // namespace m0::net
