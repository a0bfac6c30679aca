#include "m0/process/control_socket.hpp"

#include <grp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace m0::process {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ControlSocketTest : public ::testing::Test {
 protected:
  ControlSocketTest() {
    std::string made = fs::temp_directory_path() / "m0-socket-XXXXXX";
    if (::mkdtemp(made.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = made;
    ::setenv("XDG_RUNTIME_DIR", made.c_str(), 1);
  }
  ~ControlSocketTest() override { fs::remove_all(directory_); }

  static std::string opened_path(const Config& config, const net::BindAddress& first = {"127.0.0.1", 8000, ""}) {
    const auto opened = open_control(config, first);
    if (!opened) return "!" + opened.error();
    return *opened ? (*opened)->listener.address().path : "off";
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat what{};
    return ::lstat(path.c_str(), &what) == 0 ? what.st_mode & 07777U : 0;
  }

  fs::path directory_;
};

TEST(ControlAccess, TheOwnerRootAndTheGroup) {
  const std::vector<gid_t> groups{7, 100};
  EXPECT_TRUE((ControlAccess{5, {}}.allows(5, {})));
  EXPECT_TRUE((ControlAccess{5, {}}.allows(0, {})));
  EXPECT_FALSE((ControlAccess{5, {}}.allows(6, groups)));
  EXPECT_TRUE((ControlAccess{5, 100}.allows(6, groups)));
  EXPECT_FALSE((ControlAccess{5, 101}.allows(6, groups)));
  EXPECT_FALSE((ControlAccess{0, {}}.allows(6, groups)));
}

TEST(ControlName, OneForEachAddress) {
  EXPECT_EQ(control_name({"127.0.0.1", 8000, ""}), "127.0.0.1-8000.sock");
  EXPECT_EQ(control_name({"::", 80, ""}), "::-80.sock");
  const std::string one = control_name({"", 0, "/run/app.sock"});
  EXPECT_THAT(one, HasSubstr("unix-"));
  EXPECT_EQ(one, control_name({"", 0, "/run/../run/app.sock"}));
  EXPECT_NE(one, control_name({"", 0, "/run/app2.sock"}));
  EXPECT_LE(one.size(), 30u);
}

TEST(ControlPlaces, InOrder) {
  const auto names = [](const char* runtime, uid_t uid) {
    std::vector<std::string> found;
    for (const ControlPlace& place : control_places(runtime, uid)) found.push_back(place.directory);
    return found;
  };
  EXPECT_EQ(names("/x", 5), (std::vector<std::string>{"/x/m0serve", "/run/user/5/m0serve", "/tmp/m0serve-5"}));
  EXPECT_EQ(names(nullptr, 0), (std::vector<std::string>{"/run/user/0/m0serve", "/run/m0serve", "/tmp/m0serve-0"}));
  EXPECT_EQ(names("relative", 5).size(), 2u);
}

TEST_F(ControlSocketTest, APlaceIsMadeForItsOwnerAlone) {
  const fs::path place = directory_ / "m0serve";
  EXPECT_EQ(prepare_place({place, true}, ::geteuid()), "");
  EXPECT_EQ(mode_of(place), 0700u);
  EXPECT_EQ(prepare_place({place, true}, ::geteuid()), "") << "and found again";
}

TEST_F(ControlSocketTest, APlaceThatSomebodyElseMadeIsNotUsed) {
  const uid_t uid = ::geteuid();
  fs::create_directory(directory_ / "mine");
  fs::create_symlink(directory_ / "mine", directory_ / "link");
  EXPECT_EQ(prepare_place({directory_ / "link", false}, uid), "is no directory");
  std::ofstream(directory_ / "file") << "x";
  EXPECT_EQ(prepare_place({directory_ / "file", false}, uid), "is no directory");
  fs::create_directory(directory_ / "open");
  fs::permissions(directory_ / "open", fs::perms(0770));
  EXPECT_EQ(prepare_place({directory_ / "open", false}, uid), "can be written by others");
  EXPECT_EQ(prepare_place({directory_ / "mine", false}, uid + 1), "belongs to another user");
  EXPECT_EQ(prepare_place({directory_ / "other", true}, uid + 1), "lies in a directory of another user");
  EXPECT_FALSE(fs::exists(directory_ / "other"));
  EXPECT_THAT(prepare_place({directory_ / "no" / "where", true}, uid), HasSubstr("No such file"));
}

TEST_F(ControlSocketTest, ByDefaultItIsNamedByTheAddress) {
  const auto opened = open_control({}, {"127.0.0.1", 8000, ""});
  ASSERT_TRUE(opened && *opened);
  const fs::path path = directory_ / "m0serve" / "127.0.0.1-8000.sock";
  EXPECT_EQ((*opened)->listener.address().path, path);
  EXPECT_EQ(mode_of(path), 0600u);
}

TEST_F(ControlSocketTest, WhereNoPlaceWillDoItIsOff) {
  std::ofstream(directory_ / "file") << "x";
  const std::vector<ControlPlace> bad{{directory_ / "file", false}, {directory_ / "no" / "where", true}};
  ::testing::internal::CaptureStderr();
  const auto opened = open_control({}, {"127.0.0.1", 8000, ""}, bad);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(opened && !*opened);
  EXPECT_THAT(said, HasSubstr("the control socket is off"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
  // And past what will not do.
  const std::vector<ControlPlace> good{bad[0], {directory_ / "good", true}};
  const auto next = open_control({}, {"127.0.0.1", 8000, ""}, good);
  ASSERT_TRUE(next && *next);
  EXPECT_THAT((*next)->listener.address().path, HasSubstr("/good/"));
}

TEST_F(ControlSocketTest, ALiveOneIsNotTakenAndADeadOneIs) {
  Config config;
  config.control = directory_ / "s";
  {
    const auto live = open_control(config, {});
    ASSERT_TRUE(live && *live);
    EXPECT_THAT(opened_path(config), HasSubstr("!--control: unix:" + *config.control + " is in use"));
    Config inherited = config;
    inherited.control_inherited = true;
    EXPECT_THAT(opened_path(inherited), HasSubstr("127.0.0.1-8000.sock")) << "a server in a server has its own";
  }
  EXPECT_FALSE(fs::exists(*config.control));
  {
    auto dead = open_control(config, {});
    ASSERT_TRUE(dead && *dead);
    // Killed: its file stays.
    fs::create_hard_link(*config.control, directory_ / "kept");
  }
  fs::rename(directory_ / "kept", *config.control);
  EXPECT_EQ(opened_path(config), *config.control);
}

TEST_F(ControlSocketTest, WhatCannotBeIsASentence) {
  const auto refusal = [](std::string path, std::string group = "") {
    Config config;
    config.control = std::move(path);
    config.control_group = std::move(group);
    return opened_path(config);
  };
  EXPECT_THAT(refusal(directory_ / "no" / "s"), HasSubstr("its directory does not exist"));
  EXPECT_THAT(refusal(directory_), HasSubstr("is not a socket"));
  EXPECT_THAT(refusal("/" + std::string(200, 'x')), HasSubstr("at most 107 bytes"));
  EXPECT_THAT(refusal(directory_ / "s", "no such group"), HasSubstr("no group 'no such group'"));
  Config only_group;
  only_group.control_group = "users";
  EXPECT_THAT(opened_path(only_group), HasSubstr("needs a --control PATH"));
}

TEST_F(ControlSocketTest, OffIsOff) {
  Config config;
  config.control = "";
  EXPECT_EQ(opened_path(config), "off");
  tell_children(std::nullopt);
  EXPECT_STREQ(::getenv("M0_CONTROL"), "off");
}

TEST_F(ControlSocketTest, AGroupMayUseItToo) {
  const group* const ours = ::getgrgid(::getegid());
  ASSERT_NE(ours, nullptr);
  Config config;
  config.control = directory_ / "s";
  config.control_group = ours->gr_name;
  const auto opened = open_control(config, {});
  ASSERT_TRUE(opened && *opened);
  EXPECT_EQ(mode_of(directory_ / "s"), 0660u);
  struct stat what{};
  ASSERT_EQ(::stat((directory_ / "s").c_str(), &what), 0);
  EXPECT_EQ((*opened)->access.group, what.st_gid);
}

}  // namespace
}  // namespace m0::process
