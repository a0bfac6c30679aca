#include "m0/pubsub/hub.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "m0/pubsub/event_log_test_support.hpp"

namespace m0::pubsub::testing {
namespace {

/// "seq:data\n", and "gap from..to\n" where it may.
class LineEncoding final : public Encoding {
 public:
  explicit LineEncoding(bool tells_gaps = true, unsigned kind = 0) : Encoding(kind), tells_gaps_(tells_gaps) {}
  void append(std::string& out, const EventId& id, const Record& record) const override {
    ++encoded;
    out += fmt::format("{}:{}\n", id.seq, record.data());
  }
  bool append_gap(std::string& out, const EventId& from, const EventId& to) const override {
    if (tells_gaps_) out += fmt::format("gap {}..{}\n", from.seq, to.seq);
    return tells_gaps_;
  }
  mutable int encoded = 0;

 private:
  bool tells_gaps_;
};

/// A client whose socket has as much room as the test gives it.
class Client final : public Subscriber {
 public:
  Taken take(std::string_view bytes) noexcept override {
    ++writes;
    if (gone) return {0, true};
    const std::size_t took = std::min(bytes.size(), room);
    got += bytes.substr(0, took);
    room -= took;
    return {took, false};
  }
  void fell_out() noexcept override { ++fell; }

  std::string got;
  std::size_t room = std::size_t{1} << 40;
  int writes = 0;
  int fell = 0;
  bool gone = false;
};

class HubTest : public ::testing::Test {
 protected:
  explicit HubTest(HubLimits limits = {}) : log_(small_log()), hub_(log_, limits) {}

  std::uint64_t publish(std::string_view channel, std::string_view data) {
    const auto seq = log_.try_append({.channel = channel, .data = data});
    EXPECT_TRUE(seq);
    return seq.value_or(0);
  }
  void join(Client& client, std::vector<std::string_view> channels) { join(client, channels, log_.last_seq()); }
  void join(Client& client, std::vector<std::string_view> channels, std::uint64_t cursor) {
    hub_.join(client, lines_, channels, cursor);
  }
  /// Turns of the loop until nothing is left to do; how many.
  int settle() {
    int turns = 0;
    for (bool more = true; more;) {
      more = hub_.read();
      more = hub_.flush() || more;
      if (++turns >= 100'000) ADD_FAILURE() << "it never ends";
      if (turns >= 100'000) break;
    }
    return turns;
  }
  void make_room(Client& client, std::size_t bytes) {
    client.room = bytes;
    hub_.writable(client);
  }
  /// Until everything that is in the log now has left it.
  void push_out() {
    const std::uint64_t head = log_.head();
    while (log_.tail() < head) publish("other", std::string(500, 'o'));
  }

  EventLog log_;
  Hub hub_;
  LineEncoding lines_;
};

TEST_F(HubTest, GivesEachSubscriberWhatItsChannelsGetInOrder) {
  Client news, both;
  join(news, {"news"});
  join(both, {"chat", "news"});
  publish("news", "a");
  publish("chat", "b");
  publish("other", "c");
  publish("news", "d");
  settle();
  EXPECT_EQ(news.got, "1:a\n4:d\n");
  EXPECT_EQ(both.got, "1:a\n2:b\n4:d\n");
  EXPECT_EQ(both.writes, 1) << "all that it had not got, in one write";
  hub_.leave(news);
  hub_.leave(both);
}

TEST_F(HubTest, WhatCameBeforeTheCursorIsNotGiven) {
  publish("news", "a");
  const std::uint64_t arrival = publish("news", "b");
  publish("news", "c");  // between the arrival of its request and its hold
  Client client;
  join(client, {"news"}, arrival);
  publish("news", "d");
  settle();
  EXPECT_EQ(client.got, "3:c\n4:d\n");
  hub_.leave(client);
}

TEST_F(HubTest, ACursorThatTheHubHasNotReadYetIsKept) {
  Client client;
  const std::uint64_t arrival = publish("news", "a");
  join(client, {"news"}, arrival);
  settle();
  EXPECT_EQ(client.got, "");
  publish("news", "b");
  settle();
  EXPECT_EQ(client.got, "2:b\n");
  hub_.leave(client);
}

TEST_F(HubTest, WhoComesBackGetsTheRest) {
  for (int i = 0; i < 10; ++i) publish(i % 2 == 0 ? "even" : "odd", std::to_string(i));
  settle();
  Client client;
  join(client, {"odd"}, 4);
  settle();
  EXPECT_EQ(client.got, "6:5\n8:7\n10:9\n");
  EXPECT_EQ(lines_.encoded, 3) << "a resume costs what it delivers";
  hub_.leave(client);
}

TEST_F(HubTest, AResumeLooksAtEachEventAFewTimesHoweverItIsCutUp) {
  constexpr int kEvents = 1000;
  for (int i = 0; i < kEvents; ++i) publish("news", "x");
  settle();
  Client quick, slow;
  join(quick, {"news", "other"}, 0);
  settle();
  EXPECT_LT(hub_.steps(), 4u * kEvents);
  const std::uint64_t before = hub_.steps();
  join(slow, {"other", "news"}, 0);
  slow.room = 0;
  settle();
  for (int i = 0; i < 2000; ++i) {
    make_room(slow, 5);
    settle();
  }
  EXPECT_EQ(slow.got, quick.got);
  // Each of the 2,000 writes gathers what is left of it.
  EXPECT_LT(hub_.steps() - before, 2'000u * 2 * kEvents);
  hub_.leave(quick);
  hub_.leave(slow);
}

TEST_F(HubTest, WhoTakesNothingOfALongResumeDoesNotSearchForItEachTime) {
  constexpr int kEvents = 1300;
  for (int i = 0; i < kEvents; ++i) publish("news", std::string(8, 'x'));
  settle();
  Client client;
  const std::uint64_t cursor = hub_.before_oldest() + 5;
  join(client, {"news"}, cursor);
  client.room = 0;
  settle();
  const std::uint64_t before = hub_.steps();
  make_room(client, 0);
  settle();
  EXPECT_LE(hub_.steps() - before, static_cast<std::uint64_t>(kEvents));
  hub_.leave(client);
}

TEST_F(HubTest, AFrameIsEncodedOnceForAll) {
  std::vector<Client> clients(100);
  for (Client& client : clients) join(client, {"news"});
  publish("news", "a");
  publish("news", "b");
  settle();
  EXPECT_EQ(lines_.encoded, 2);
  for (Client& client : clients) {
    EXPECT_EQ(client.got, "1:a\n2:b\n");
    hub_.leave(client);
  }
}

TEST_F(HubTest, KindsDoNotDisplaceEachOthersFrames) {
  const LineEncoding other(true, 1);
  std::vector<Client> clients(40);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const std::string_view news[] = {"news"};
    hub_.join(clients[i], i % 2 == 0 ? lines_ : other, news, 0);
  }
  publish("news", "a");
  settle();
  EXPECT_EQ(lines_.encoded + other.encoded, 2);
  for (Client& client : clients) hub_.leave(client);
}

TEST_F(HubTest, AFullSocketGoesOnWhereItStopped) {
  Client client;
  join(client, {"news"});
  client.room = 0;
  std::string expected;
  for (int i = 0; i < 20; ++i) {
    publish("news", std::to_string(i * 1000));
    expected += fmt::format("{}:{}\n", i + 1, i * 1000);
  }
  settle();
  EXPECT_EQ(client.got, "");
  const int writes = client.writes;
  publish("news", "last");
  expected += fmt::format("{}:last\n", log_.last_seq());
  settle();
  EXPECT_EQ(client.writes, writes) << "nothing is tried before it is writable";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    make_room(client, 1);
    settle();
    ASSERT_EQ(client.got, expected.substr(0, i + 1));
    ASSERT_EQ(client.mid_frame(), client.got.back() != '\n');
  }
  hub_.leave(client);
}

TEST_F(HubTest, WhoFallsOutBetweenFramesIsToldOnceWhatItMissed) {
  Client client;
  join(client, {"news", "chat"});
  publish("news", "a");
  publish("chat", "b");
  settle();
  client.room = 0;
  publish("news", "lost");
  settle();
  push_out();
  const std::uint64_t last = publish("news", "z");
  make_room(client, 1 << 20);
  settle();
  const std::uint64_t oldest = everything(log_).front().seq;
  EXPECT_EQ(client.got, fmt::format("1:a\n2:b\ngap 2..{}\n{}:z\n", oldest - 1, last));
  EXPECT_EQ(client.fell, 0);
  hub_.leave(client);
}

TEST_F(HubTest, WhoMissedNothingIsToldNothingHoweverOldItsCursor) {
  Client client;
  join(client, {"news"});
  push_out();
  settle();
  push_out();
  publish("news", "a");
  settle();
  EXPECT_EQ(client.got.substr(client.got.find(':')), ":a\n");
  hub_.leave(client);
}

TEST_F(HubTest, WhoComesBackWithoutHavingMissedAnythingIsToldNothing) {
  push_out();
  settle();
  Client client;
  join(client, {"quiet"}, 1);
  settle();
  EXPECT_EQ(client.got, "");
  hub_.leave(client);
}

TEST_F(HubTest, WhoComesBackTooLateIsToldSo) {
  publish("news", "a");
  publish("news", "b");
  push_out();
  settle();
  Client client;
  join(client, {"news"}, 1);
  settle();
  EXPECT_EQ(client.got, fmt::format("gap 1..{}\n", hub_.before_oldest()));
  client.got.clear();
  publish("news", "c");
  settle();
  EXPECT_EQ(client.got, fmt::format("{}:c\n", log_.last_seq()));
  hub_.leave(client);
}

TEST_F(HubTest, InTheMiddleOfAFrameItIsEnded) {
  Client client;
  join(client, {"news"});
  client.room = 2;
  publish("news", "abc");
  settle();
  ASSERT_TRUE(client.mid_frame());
  push_out();
  make_room(client, 100);
  settle();
  EXPECT_EQ(client.got, "1:");
  EXPECT_EQ(client.fell, 1);
  publish("news", "d");
  settle();
  EXPECT_EQ(client.got, "1:") << "nothing more";
  hub_.leave(client);
}

TEST_F(HubTest, AnEncodingWithoutGapsEndsIt) {
  const LineEncoding silent(false, 1);
  Client client;
  const std::string_view news[] = {"news"};
  hub_.join(client, silent, news, 0);
  client.room = 0;
  publish("news", "a");
  settle();
  push_out();
  make_room(client, 100);
  settle();
  EXPECT_EQ(client.fell, 1);
  hub_.leave(client);
}

TEST_F(HubTest, HalfAGapEndsIt) {
  Client client;
  join(client, {"news"});
  client.room = 0;
  publish("news", "a");
  settle();
  push_out();
  make_room(client, 3);
  settle();
  EXPECT_EQ(client.got, "gap");
  EXPECT_EQ(client.fell, 1);
  hub_.leave(client);
}

TEST_F(HubTest, AnOvertakenReaderTellsAllWhoMayHaveMissedSomething) {
  Client news, quiet;
  join(news, {"news"});
  join(quiet, {"quiet"});
  publish("news", "a");
  push_out();
  const std::uint64_t last = publish("news", "z");
  settle();
  EXPECT_TRUE(news.got.starts_with("gap 0..")) << news.got;
  EXPECT_TRUE(news.got.ends_with(fmt::format("{}:z\n", last)));
  EXPECT_EQ(quiet.got, "");
  hub_.leave(news);
  hub_.leave(quiet);
}

TEST_F(HubTest, ANewWorkersHubKnowsWhatIsThereAndWhatIsGone) {
  publish("news", "a");
  push_out();
  publish("news", "z");
  Hub fresh(log_);
  while (fresh.read()) {
  }
  Client client, other;
  const std::string_view news[] = {"news"};
  const std::string_view quiet[] = {"quiet"};
  fresh.join(client, lines_, news, 0);
  fresh.join(other, lines_, quiet, 0);
  while (fresh.flush()) {
  }
  EXPECT_EQ(client.got, fmt::format("gap 0..{}\n{}:z\n", fresh.before_oldest(), log_.last_seq()));
  EXPECT_EQ(other.got, "");
  fresh.leave(client);
  fresh.leave(other);
}

TEST_F(HubTest, ControlRecordsGoToNobodyAndAreHandedOver) {
  std::vector<std::string> seen;
  Hub hub(log_, {}, [&](const Record& record) { seen.emplace_back(record.data()); });
  Client client;
  const std::string_view news[] = {"news"};
  hub.join(client, lines_, news, 0);
  ASSERT_TRUE(log_.try_append({.channel = "news", .data = "a command", .control = true}));
  publish("news", "a");
  while (hub.read() || hub.flush()) {
  }
  EXPECT_EQ(client.got, "2:a\n");
  EXPECT_EQ(seen, std::vector<std::string>{"a command"});
  hub.leave(client);
}

TEST_F(HubTest, WhereAFirstVisitBegins) {
  for (const char* const data : {"a", "b", "c"}) {
    publish("news", data);
    publish("other", "x");
  }
  settle();
  Client two, all;
  join(two, {"news"}, hub_.before_last("news", 2));
  join(all, {"news"}, hub_.before_last("news", 100));
  settle();
  EXPECT_EQ(two.got, "3:b\n5:c\n");
  EXPECT_EQ(all.got, "1:a\n3:b\n5:c\n");
  EXPECT_EQ(hub_.before_last("news", 0), hub_.read_seq());
  EXPECT_EQ(hub_.before_last("unknown", 5), hub_.read_seq());
  hub_.leave(two);
  hub_.leave(all);
}

TEST_F(HubTest, OneThatIsGoneGetsNothingMore) {
  Client client;
  join(client, {"news"});
  client.gone = true;
  publish("news", "a");
  settle();
  publish("news", "b");
  settle();
  EXPECT_EQ(client.writes, 1);
  EXPECT_EQ(client.fell, 0);
  hub_.leave(client);
}

TEST_F(HubTest, ItCanComeAgain) {
  Client client;
  join(client, {"news"});
  hub_.leave(client);
  EXPECT_EQ(hub_.subscribers("news"), 0u);
  publish("news", "a");
  join(client, {"chat", "news"});
  EXPECT_EQ(hub_.subscribers("news"), 1u);
  publish("news", "b");
  settle();
  EXPECT_EQ(client.got, "2:b\n");
  hub_.leave(client);
}

TEST_F(HubTest, SaysWhetherItIsBehind) {
  EXPECT_FALSE(hub_.behind());
  publish("news", "a");
  EXPECT_TRUE(hub_.behind());
  settle();
  EXPECT_FALSE(hub_.behind());
}

class BoundedHub : public HubTest {
 protected:
  BoundedHub() : HubTest({.writes = 4, .visits = 1000, .time = std::chrono::hours(1), .records = 16}) {}
};

TEST_F(BoundedHub, ATurnHasSoManyWrites) {
  std::vector<Client> clients(10);
  for (Client& client : clients) join(client, {"news"});
  publish("news", "a");
  hub_.read();
  EXPECT_TRUE(hub_.flush());
  EXPECT_EQ(std::ranges::count_if(clients, [](const Client& client) { return client.writes == 1; }), 4);
  EXPECT_TRUE(hub_.flush());
  EXPECT_FALSE(hub_.flush());
  for (Client& client : clients) {
    EXPECT_EQ(client.got, "1:a\n");
    hub_.leave(client);
  }
}

TEST_F(BoundedHub, WhatIsPublishedMeanwhileJoinsTheSweep) {
  std::vector<Client> clients(12);
  for (Client& client : clients) join(client, {"news"});
  publish("news", "a");
  hub_.read();
  EXPECT_TRUE(hub_.flush());
  publish("news", "b");
  settle();
  int writes = 0;
  for (Client& client : clients) {
    EXPECT_EQ(client.got, "1:a\n2:b\n");
    writes += client.writes;
    hub_.leave(client);
  }
  EXPECT_EQ(writes, 16) << "those that had nothing yet got both at once";
}

TEST_F(BoundedHub, WhoLeavesDuringASweepTakesNobodysEvent) {
  for (std::size_t leaver = 0; leaver < 12; ++leaver) {
    Hub hub(log_, {.writes = 4});
    while (hub.read()) {
    }
    std::vector<Client> clients(12);
    const std::string_view news[] = {"news"};
    for (Client& client : clients) hub.join(client, lines_, news, log_.last_seq());
    const std::uint64_t seq = publish("news", "a");
    hub.read();
    EXPECT_TRUE(hub.flush());
    hub.leave(clients[leaver]);
    while (hub.flush()) {
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (i == leaver) continue;
      EXPECT_EQ(clients[i].got, fmt::format("{}:a\n", seq)) << leaver << " left, " << i << " got";
      hub.leave(clients[i]);
    }
  }
}

TEST_F(BoundedHub, ThoseWhoComeBackDoNotStarveThoseWhoAreThere) {
  for (int i = 0; i < 200; ++i) publish("news", "old");
  settle();
  std::vector<Client> back(50);
  Client live;
  join(live, {"live"});
  for (Client& client : back) join(client, {"news"}, 0);
  publish("live", "now");
  hub_.read();
  EXPECT_TRUE(hub_.flush());
  EXPECT_FALSE(live.got.empty()) << "in the first turn";
  settle();
  for (Client& client : back) {
    EXPECT_EQ(std::ranges::count(client.got, '\n'), 200);
    hub_.leave(client);
  }
  hub_.leave(live);
}

TEST_F(BoundedHub, ReadsSoManyRecordsATurn) {
  for (int i = 0; i < 20; ++i) publish("news", "a");
  EXPECT_TRUE(hub_.read());
  EXPECT_EQ(hub_.read_seq(), 16u);
  EXPECT_FALSE(hub_.read());
}

/// Everything at random, against a list: each event once and in order, or within a gap that was told.
TEST_F(BoundedHub, AgreesWithAPlainList) {
  std::mt19937 random(42);
  const std::array<std::string, 4> names{"a", "b", "c", "d"};
  struct Wanted {
    Client client;
    std::set<std::string> channels;
    std::uint64_t from = 0;
  };
  std::vector<std::unique_ptr<Wanted>> all;
  std::map<std::uint64_t, std::string> published;  // number -> channel
  const auto check = [&](Wanted& wanted, bool settled) {
    std::uint64_t at = wanted.from;
    std::string_view rest = wanted.client.got;
    const auto expect_nothing_wanted_between = [&](std::uint64_t after, std::uint64_t before) {
      for (auto it = published.upper_bound(after); it != published.end() && it->first < before; ++it) {
        ASSERT_FALSE(wanted.channels.contains(it->second)) << it->first << " was not delivered";
      }
    };
    while (!rest.empty() && rest.find('\n') != std::string_view::npos) {
      const std::string line(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(line.size() + 1);
      if (line.starts_with("gap ")) {
        const std::uint64_t from = std::stoull(line.substr(4));
        const std::uint64_t to = std::stoull(line.substr(line.rfind('.') + 1));
        ASSERT_GE(from, at);
        expect_nothing_wanted_between(at, from + 1);
        ASSERT_GT(to, from);
        at = to;
        continue;
      }
      const std::uint64_t seq = std::stoull(line);
      ASSERT_GT(seq, at) << "twice, or out of order";
      ASSERT_TRUE(wanted.channels.contains(published.at(seq)));
      expect_nothing_wanted_between(at, seq);
      at = seq;
    }
    if (settled && wanted.client.fell == 0) expect_nothing_wanted_between(at, log_.last_seq() + 1);
  };
  for (int step = 0; step < 60'000; ++step) {
    const auto what = random() % 100;
    if (what < 55) {
      const std::string& name = names[random() % names.size()];
      const std::uint64_t seq = publish(name, std::string(random() % 400, 'x'));
      published[seq] = name;
    } else if (what < 80) {
      hub_.read();
      hub_.flush();
    } else if (what < 90 && !all.empty()) {
      make_room(all[random() % all.size()]->client, random() % 3 == 0 ? random() % 50 : random() % 5000);
    } else if (what < 95 && all.size() < 12) {
      all.push_back(std::make_unique<Wanted>());
      Wanted& wanted = *all.back();
      for (const std::string& name : names) {
        if (random() % 2 == 0) wanted.channels.insert(name);
      }
      if (wanted.channels.empty()) wanted.channels.insert("a");
      const std::uint64_t last = log_.last_seq();
      wanted.from = random() % 2 == 0 ? last : last - std::min<std::uint64_t>(last, random() % 600);
      join(wanted.client, {wanted.channels.begin(), wanted.channels.end()}, wanted.from);
    } else if (!all.empty()) {
      const std::size_t who = random() % all.size();
      check(*all[who], false);
      hub_.leave(all[who]->client);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(who));
    }
    if (HasFatalFailure()) return;
  }
  for (const auto& wanted : all) make_room(wanted->client, std::size_t{1} << 30);
  settle();
  for (const auto& wanted : all) {
    check(*wanted, true);
    hub_.leave(wanted->client);
  }
}

}  // namespace
}  // namespace m0::pubsub::testing
