#include "m0/net/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "m0/net/listener.hpp"

namespace m0::net {
namespace {

using What = Accepted::What;

Listener listen_on(const char* text) {
  const std::vector<BindAddress> addresses{parse_bind_address(text).value()};
  auto opened = open_listeners(addresses, {});
  if (!opened) throw std::runtime_error(opened.error());
  return std::move(opened->front());
}

base::Fd connect_to(const Listener& listener, const char* host = "127.0.0.1") {
  base::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(listener.address().port);
  ::inet_pton(AF_INET, host, &to.sin_addr);
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  return client;
}

Accepted accept_waiting(const Listener& listener) {
  pollfd ask{listener.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ask, 1, 10'000), 1);
  return accept_one(listener.fd());
}

TEST(Socket, NobodyThereIsNotAnError) {
  const Listener listener = listen_on("127.0.0.1:0");
  const Accepted result = accept_one(listener.fd());
  EXPECT_EQ(result.what, What::WouldBlock);
  EXPECT_FALSE(result.socket);
}

TEST(Socket, AnAcceptedSocketIsReadyForTheLoop) {
  const Listener listener = listen_on("127.0.0.1:0");
  const base::Fd client = connect_to(listener);
  const Accepted result = accept_waiting(listener);
  ASSERT_EQ(result.what, What::Socket);
  EXPECT_NE(::fcntl(result.socket.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(result.socket.get(), F_GETFD) & FD_CLOEXEC, 0);
  int no_delay = 0;
  socklen_t size = sizeof no_delay;
  ::getsockopt(result.socket.get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, &size);
  EXPECT_NE(no_delay, 0);
}

TEST(Socket, KnowsWhoCame) {
  const Listener listener = listen_on("127.0.0.1:0");
  const base::Fd client = connect_to(listener);
  const Accepted result = accept_waiting(listener);
  sockaddr_in own{};
  socklen_t size = sizeof own;
  ::getsockname(client.get(), reinterpret_cast<sockaddr*>(&own), &size);
  EXPECT_EQ(result.peer.family, PeerName::Family::V4);
  EXPECT_EQ(result.peer.port, ntohs(own.sin_port));
  EXPECT_EQ(address_text(result.peer), "127.0.0.1");
}

TEST(Socket, AnIpv4ClientOfADualListenerIsAnIpv4Client) {
  const Listener listener = listen_on("[::]:0");
  const base::Fd client = connect_to(listener);
  const Accepted result = accept_waiting(listener);
  EXPECT_EQ(result.peer.family, PeerName::Family::V4);
  EXPECT_EQ(address_text(result.peer), "127.0.0.1");
}

TEST(Socket, WritesIpv6Addresses) {
  sockaddr_storage from{};
  auto& v6 = reinterpret_cast<sockaddr_in6&>(from);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(99);
  ::inet_pton(AF_INET6, "2001:db8::7", &v6.sin6_addr);
  const PeerName peer = to_peer_name(from);
  EXPECT_EQ(peer.family, PeerName::Family::V6);
  EXPECT_EQ(peer.port, 99);
  EXPECT_EQ(address_text(peer), "2001:db8::7");
}

TEST(Socket, APeerOfAUnixSocketHasNoAddress) {
  sockaddr_storage from{};
  from.ss_family = AF_UNIX;
  EXPECT_EQ(to_peer_name(from), PeerName{});
  EXPECT_EQ(address_text(PeerName{}), "");
}

TEST(Socket, LivesAboveWhatSelectKnows) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < 2048) GTEST_SKIP() << "the hard limit of descriptors is below 2048";
  raise_descriptor_limit();
  const Listener listener = listen_on("127.0.0.1:0");
  const base::Fd client = connect_to(listener);
  const Accepted result = accept_waiting(listener);
  EXPECT_GE(result.socket.get(), kLowestSocket);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// In a child, because limits and descriptors of the test binary are not ours to spoil.
template <class Check>
int in_child(Check check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

TEST(Socket, ALowNumberHasToDoWhereTheLimitIsLow) {
  const Listener listener = listen_on("127.0.0.1:0");
  const base::Fd client = connect_to(listener);
  EXPECT_EQ(in_child([&] {
              const rlimit low{256, 256};
              ::setrlimit(RLIMIT_NOFILE, &low);
              const Accepted result = accept_waiting(listener);
              return result.socket && result.socket.get() < 256 ? 0 : 1;
            }),
            0);
}

TEST(Socket, RunningOutOfDescriptorsIsToldApart) {
  const Listener listener = listen_on("127.0.0.1:0");
  const base::Fd client = connect_to(listener);
  EXPECT_EQ(in_child([&] {
              const int lowest_free = ::dup(0);
              ::close(lowest_free);
              const rlimit low{static_cast<rlim_t>(lowest_free), static_cast<rlim_t>(lowest_free)};
              ::setrlimit(RLIMIT_NOFILE, &low);
              const Accepted result = accept_one(listener.fd());
              return result.what == What::Exhausted && result.error == EMFILE ? 0 : 1;
            }),
            0);
}

TEST(Socket, AListenerThatWasShutDownIsBroken) {
  const Listener listener = listen_on("127.0.0.1:0");
  ::shutdown(listener.fd(), SHUT_RDWR);
  EXPECT_EQ(accept_one(listener.fd()).what, What::Broken);
  EXPECT_EQ(accept_one(-1).what, What::Broken);
  EXPECT_EQ(accept_one(0).what, What::Broken);
}

TEST(Socket, EveryErrorOfTheManualHasItsBranch) {
  for (int error : {EAGAIN, EWOULDBLOCK}) EXPECT_EQ(classify_accept_error(error), What::WouldBlock) << error;
  for (int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) EXPECT_EQ(classify_accept_error(error), What::Exhausted) << error;
  for (int error : {ECONNABORTED, EPERM, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
                    ENETUNREACH, ETIMEDOUT, ESOCKTNOSUPPORT, EPROTONOSUPPORT}) {
    EXPECT_EQ(classify_accept_error(error), What::PeerGone) << error;
  }
  for (int error : {EBADF, EFAULT, EINVAL, ENOTSOCK}) EXPECT_EQ(classify_accept_error(error), What::Broken) << error;
}

TEST(Socket, TheSoftLimitRisesToTheHardOne) {
  EXPECT_EQ(in_child([] {
              rlimit limit{};
              ::getrlimit(RLIMIT_NOFILE, &limit);
              limit.rlim_cur = 64;
              limit.rlim_max = 512;
              ::setrlimit(RLIMIT_NOFILE, &limit);
              if (raise_descriptor_limit() != 512) return 1;
              ::getrlimit(RLIMIT_NOFILE, &limit);
              return limit.rlim_cur == 512 ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace m0::net
