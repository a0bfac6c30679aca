#include "m0/base/fd_registry.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "m0/base/fd.hpp"

namespace m0::base {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

/// Forks, runs `check` in the child and gives its exit status; 99 stands for "did not exit".
template <class Check>
int in_child(Check check, bool intended = false) {
  fd_registry::install_fork_hooks();
  pid_t child = -1;
  if (intended) {
    const fd_registry::IntendedFork guard;
    child = ::fork();
    if (child == 0) ::_exit(check());
  } else {
    child = ::fork();
    if (child == 0) ::_exit(check());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

Fd null_device() { return Fd(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

TEST(FdRegistry, AChildOfTheApplicationLosesOurDescriptors) {
  const Fd ours = null_device();
  ASSERT_TRUE(ours);
  EXPECT_EQ(in_child([&] { return is_open(ours.get()) ? 1 : 0; }), 0);
  EXPECT_TRUE(is_open(ours.get()));
}

TEST(FdRegistry, AChildOfTheApplicationKeepsItsOwnDescriptors) {
  const int theirs = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_EQ(in_child([&] { return is_open(theirs) ? 0 : 1; }), 0);
  ::close(theirs);
}

TEST(FdRegistry, AWorkerKeepsEverything) {
  const Fd ours = null_device();
  EXPECT_EQ(in_child([&] { return is_open(ours.get()) && !fd_registry::in_forked_child() ? 0 : 1; }, true), 0);
}

TEST(FdRegistry, TheIntentionEndsWithItsBracket) {
  const Fd ours = null_device();
  {
    const fd_registry::IntendedFork guard;
    EXPECT_TRUE(fd_registry::fork_is_intended());
  }
  EXPECT_FALSE(fd_registry::fork_is_intended());
  EXPECT_EQ(in_child([&] { return is_open(ours.get()) ? 1 : 0; }), 0);
}

TEST(FdRegistry, AnIntentionHoldsForItsThreadOnly) {
  const Fd ours = null_device();
  const fd_registry::IntendedFork guard;
  int result = -1;
  std::thread other([&] { result = in_child([&] { return is_open(ours.get()) ? 1 : 0; }); });
  other.join();
  EXPECT_EQ(result, 0);
}

TEST(FdRegistry, MarksTheChildAndNotTheParent) {
  EXPECT_EQ(in_child([] { return fd_registry::in_forked_child() ? 0 : 1; }), 0);
  EXPECT_FALSE(fd_registry::in_forked_child());
  EXPECT_TRUE(fd_registry::has_forked());
}

TEST(FdRegistry, AForkOfTheForkedChildIsMarkedToo) {
  EXPECT_EQ(in_child([] { return in_child([] { return fd_registry::in_forked_child() ? 0 : 1; }); }), 0);
}

TEST(FdRegistry, AReleasedDescriptorIsForgotten) {
  Fd ours = null_device();
  const int given_away = ours.release();
  EXPECT_FALSE(ours);
  EXPECT_EQ(in_child([&] { return is_open(given_away) ? 0 : 1; }), 0);
  ::close(given_away);
}

TEST(FdRegistry, MovingKeepsOneOwner) {
  Fd one = null_device();
  const int number = one.get();
  Fd two = std::move(one);
  EXPECT_EQ(two.get(), number);
  Fd three = null_device();
  const int replaced = three.get();
  three = std::move(two);
  EXPECT_FALSE(is_open(replaced));
  EXPECT_TRUE(is_open(number));
  three.reset();
  EXPECT_FALSE(is_open(number));
}

TEST(FdRegistry, FindsDescriptorsInEveryWord) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  std::vector<Fd> many;
  for (int at : {64, 127, 128, 700}) {
    if (static_cast<rlim_t>(at) < limit.rlim_cur) many.emplace_back(::fcntl(1, F_DUPFD_CLOEXEC, at));
  }
  ASSERT_FALSE(many.empty());
  EXPECT_EQ(in_child([&] {
              for (const Fd& fd : many) {
                if (is_open(fd.get())) return 1;
              }
              return 0;
            }),
            0);
}

TEST(FdRegistry, NumbersOutsideTheTableAreIgnored) {
  fd_registry::add(-1);
  fd_registry::remove(-1);
  fd_registry::add(1 << 20);
  fd_registry::remove(1 << 20);
  fd_registry::add(0x7fffffff);
}

void on_usr1(int) {}

TEST(FdRegistry, OurSignalHandlersAreNotTheChilds) {
  struct sigaction ours{};
  ours.sa_handler = on_usr1;
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGUSR1, &ours, &before), 0);
  struct sigaction theirs_before{};
  ASSERT_EQ(::sigaction(SIGUSR2, &ours, &theirs_before), 0);
  fd_registry::add_signal(SIGUSR1);
  EXPECT_EQ(in_child([] {
              struct sigaction now{};
              ::sigaction(SIGUSR1, nullptr, &now);
              if (now.sa_handler != SIG_DFL) return 1;
              ::sigaction(SIGUSR2, nullptr, &now);
              return now.sa_handler == on_usr1 ? 0 : 2;
            }),
            0);
  ::sigaction(SIGUSR1, &before, nullptr);
  ::sigaction(SIGUSR2, &theirs_before, nullptr);
}

TEST(FdRegistry, TheChildsSignalMaskIsClear) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  EXPECT_EQ(in_child([] {
              sigset_t mask;
              pthread_sigmask(SIG_BLOCK, nullptr, &mask);
              return sigismember(&mask, SIGTERM);
            }),
            0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace m0::base
