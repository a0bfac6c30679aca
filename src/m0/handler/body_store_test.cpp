#include "m0/handler/body_store.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace m0::handler {
namespace {

std::string pattern(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>((i * 2'654'435'761U) >> 16);
  return bytes;
}

std::string read_all(const BodyStore& body, std::size_t piece) {
  std::string bytes;
  std::string buffer(piece, '\0');
  for (;;) {
    const std::ptrdiff_t got = body.read_at(bytes.size(), buffer);
    if (got <= 0) return bytes;
    bytes.append(buffer, 0, static_cast<std::size_t>(got));
  }
}

/// Runs in a child process, whose limits and directories end with it. 0: `holds()` was true.
template <class Holds>
int in_child(Holds&& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(holds() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

struct TemporaryDirectory {
  TemporaryDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "m0-body-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary directory";
    path = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

/// From now on this process is told what a file system without O_TMPFILE says.
bool refuse_nameless_files() {
  constexpr std::uint32_t kNameless = O_TMPFILE & ~O_DIRECTORY;
  std::array filter{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNameless, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

class BodyStoreTest : public ::testing::Test {
 protected:
  BodyBudget budget_;
};

TEST_F(BodyStoreTest, IsEmptyAtFirst) {
  BodyStore body(budget_);
  std::array<char, 8> buffer{};
  EXPECT_EQ(body.size(), 0U);
  EXPECT_TRUE(body.in_memory());
  EXPECT_EQ(body.read_at(0, buffer), 0);
}

TEST_F(BodyStoreTest, KeepsUpTo64KiBInMemory) {
  BodyStore body(budget_);
  const std::string bytes = pattern(BodyStore::kInMemory);
  EXPECT_EQ(body.append(std::string_view(bytes).substr(0, 1000)), BodyAppend::Ok);
  EXPECT_EQ(body.append(std::string_view(bytes).substr(1000)), BodyAppend::Ok);
  EXPECT_EQ(body.append(""), BodyAppend::Ok);
  EXPECT_TRUE(body.in_memory());
  EXPECT_EQ(body.memory(), bytes);
  EXPECT_EQ(body.size(), bytes.size());
  EXPECT_EQ(budget_.memory_used, bytes.size());
  EXPECT_EQ(budget_.disk_used, 0U);
  EXPECT_EQ(read_all(body, 777), bytes);
}

TEST_F(BodyStoreTest, MovesToAFileWithTheByteThatIsTooMuch) {
  BodyStore body(budget_);
  const std::string bytes = pattern(BodyStore::kInMemory + 1);
  ASSERT_EQ(body.append(std::string_view(bytes).substr(0, BodyStore::kInMemory)), BodyAppend::Ok);
  ASSERT_EQ(body.append(std::string_view(bytes).substr(BodyStore::kInMemory)), BodyAppend::Ok);
  EXPECT_FALSE(body.in_memory());
  EXPECT_EQ(body.size(), bytes.size());
  EXPECT_EQ(budget_.memory_used, 0U);
  EXPECT_EQ(budget_.disk_used, bytes.size());
  EXPECT_EQ(read_all(body, 4096), bytes);
}

TEST_F(BodyStoreTest, ALargePieceGoesToTheFileAtOnce) {
  BodyStore body(budget_);
  const std::string bytes = pattern(3 * BodyStore::kInMemory + 5);
  ASSERT_EQ(body.append(bytes), BodyAppend::Ok);
  ASSERT_EQ(body.append("the end"), BodyAppend::Ok);
  EXPECT_FALSE(body.in_memory());
  EXPECT_EQ(read_all(body, 10'000), bytes + "the end");
}

TEST_F(BodyStoreTest, ReadsFromAnyOffset) {
  for (const std::size_t size : {std::size_t{1000}, 2 * BodyStore::kInMemory}) {
    BodyStore body(budget_);
    const std::string bytes = pattern(size);
    ASSERT_EQ(body.append(bytes), BodyAppend::Ok);
    std::array<char, 100> buffer{};
    EXPECT_EQ(body.read_at(500, buffer), 100);
    EXPECT_EQ(std::string_view(buffer.data(), 100), std::string_view(bytes).substr(500, 100));
    EXPECT_EQ(body.read_at(size - 7, buffer), 7);
    EXPECT_EQ(std::string_view(buffer.data(), 7), std::string_view(bytes).substr(size - 7));
    EXPECT_EQ(body.read_at(size, buffer), 0);
    EXPECT_EQ(body.read_at(size + 1000, buffer), 0);
    EXPECT_EQ(body.read_at(0, std::span<char>()), 0);
  }
}

TEST_F(BodyStoreTest, TheMemoryOfAllBodiesTogetherIsBounded) {
  budget_.memory_limit = 1000;
  BodyStore first(budget_);
  BodyStore second(budget_);
  EXPECT_EQ(first.append(pattern(600)), BodyAppend::Ok);
  EXPECT_EQ(second.append(pattern(400)), BodyAppend::Ok);
  EXPECT_EQ(second.append("x"), BodyAppend::OverBudget);
  first.clear();
  EXPECT_EQ(budget_.memory_used, 400U);
  EXPECT_EQ(second.append(pattern(600)), BodyAppend::Ok);
}

TEST_F(BodyStoreTest, TheDiskOfAllBodiesTogetherIsBounded) {
  budget_.disk_limit = 200'000;
  BodyStore first(budget_);
  BodyStore second(budget_);
  EXPECT_EQ(first.append(pattern(120'000)), BodyAppend::Ok);
  EXPECT_EQ(second.append(pattern(80'000)), BodyAppend::Ok);
  EXPECT_EQ(second.append("x"), BodyAppend::OverBudget);
  EXPECT_EQ(budget_.disk_used, 200'000U);
  first.clear();
  EXPECT_EQ(budget_.disk_used, 80'000U);
  EXPECT_EQ(second.append(pattern(120'000)), BodyAppend::Ok);
}

TEST_F(BodyStoreTest, WhateverHappensTheBudgetIsGivenBack) {
  budget_.memory_limit = 100'000;
  budget_.disk_limit = 150'000;
  {
    BodyStore small(budget_);
    BodyStore large(budget_);
    BodyStore refused(budget_);
    EXPECT_EQ(small.append(pattern(50'000)), BodyAppend::Ok);
    EXPECT_EQ(large.append(pattern(140'000)), BodyAppend::Ok);
    // Over the limit while it moves from memory to the file.
    EXPECT_EQ(refused.append(pattern(30'000)), BodyAppend::Ok);
    EXPECT_EQ(refused.append(pattern(60'000)), BodyAppend::OverBudget);
  }
  EXPECT_EQ(budget_.memory_used, 0U);
  EXPECT_EQ(budget_.disk_used, 0U);
}

TEST_F(BodyStoreTest, IsUsedAgainAfterItWasCleared) {
  BodyStore body(budget_);
  for (const std::size_t size : {std::size_t{10}, std::size_t{200'000}, std::size_t{20}, std::size_t{70'000}}) {
    const std::string bytes = pattern(size);
    ASSERT_EQ(body.append(bytes), BodyAppend::Ok);
    EXPECT_EQ(body.in_memory(), size <= BodyStore::kInMemory);
    EXPECT_EQ(read_all(body, 8192), bytes);
    body.clear();
    EXPECT_EQ(body.size(), 0U);
    EXPECT_TRUE(body.in_memory());
    EXPECT_EQ(budget_.memory_used + budget_.disk_used, 0U);
  }
}

TEST_F(BodyStoreTest, GivesItsRoomBack) {
  BodyStore body(budget_);
  ASSERT_EQ(body.append(std::string(60'000, 'x')), BodyAppend::Ok);
  EXPECT_GE(body.room(), 60'000U);
  body.clear();
  EXPECT_LE(body.room(), BodyStore::kKept);
  ASSERT_EQ(body.append(std::string(60'000, 'x')), BodyAppend::Ok);
  ASSERT_EQ(body.append(std::string(60'000, 'x')), BodyAppend::Ok);
  EXPECT_FALSE(body.in_memory());
  EXPECT_LE(body.room(), BodyStore::kKept) << "what is in the file is not in memory too";
}

TEST_F(BodyStoreTest, TheFileHasNoName) {
  const TemporaryDirectory place;
  const int status = in_child([&] {
    if (::setenv("TMPDIR", place.path.c_str(), 1) != 0) return false;
    BodyStore body(budget_);
    return body.append(pattern(100'000)) == BodyAppend::Ok && budget_.disk_used == 100'000 &&
           std::filesystem::is_empty(place.path);
  });
  EXPECT_EQ(status, 0);
}

TEST_F(BodyStoreTest, AFullDiskLosesTheBodyAndNothingElse) {
  const int status = in_child([&] {
    // A write past the limit is answered with SIGXFSZ, then EFBIG; part of it may have been written before.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    BodyStore body(budget_);
    if (body.append(pattern(90'000)) != BodyAppend::Ok) return false;
    if (body.append(pattern(20'000)) != BodyAppend::DiskFailed) return false;
    body.clear();
    return budget_.disk_used == 0 && budget_.memory_used == 0 && body.append("again") == BodyAppend::Ok;
  });
  EXPECT_EQ(status, 0);
}

// Not every file system can make a file without a name.
TEST_F(BodyStoreTest, WhereNoFileCanBeMadeWithoutANameItLosesItsNameAtOnce) {
  const TemporaryDirectory place;
  const int status = in_child([&] {
    if (!refuse_nameless_files() || ::setenv("TMPDIR", place.path.c_str(), 1) != 0) return false;
    errno = 0;
    if (::open(place.path.c_str(), O_TMPFILE | O_RDWR, 0600) >= 0 || errno != EOPNOTSUPP) return false;
    BodyStore body(budget_);
    const std::string bytes = pattern(100'000);
    return body.append(bytes) == BodyAppend::Ok && budget_.disk_used == 100'000 && budget_.memory_used == 0 &&
           read_all(body, 10'000) == bytes && std::filesystem::is_empty(place.path);
  });
  EXPECT_EQ(status, 0);
}

// A read-only root: the body is anonymous memory, and counts as memory.
TEST_F(BodyStoreTest, WithoutAWritableDirectoryItStaysInMemory) {
  const TemporaryDirectory place;
  constexpr int kMayNot = 77;
  const int status = in_child([&] {
    // A process that has no directory for temporary files at all: its root is an empty one.
    if (::geteuid() != 0 && ::unshare(CLONE_NEWUSER) != 0) ::_exit(kMayNot);
    if (::chroot(place.path.c_str()) != 0 || ::chdir("/") != 0) ::_exit(kMayNot);
    budget_.memory_limit = 300'000;
    BodyStore body(budget_);
    const std::string bytes = pattern(200'000);
    const bool kept = body.append(bytes) == BodyAppend::Ok && !body.in_memory() && read_all(body, 10'000) == bytes &&
                      budget_.memory_used == 200'000 && budget_.disk_used == 0 &&
                      body.append(pattern(100'001)) == BodyAppend::OverBudget;
    body.clear();
    return kept && budget_.memory_used == 0 && budget_.disk_used == 0;
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == kMayNot) GTEST_SKIP() << "this user may not change its root";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace m0::handler
