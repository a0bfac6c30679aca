#include "m0/server/accept_gate.hpp"

#include <array>

namespace m0::server {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant kStart = base::from_ns(1'000'000'000);

struct Workers {
  explicit Workers(std::initializer_list<std::uint32_t> counts) {
    for (const std::uint32_t count : counts) {
      loads[size].connections = count;
      loads[size].accepting = true;
      ++size;
    }
  }
  std::span<WorkerLoad> span() { return {loads.data(), size}; }
  std::array<WorkerLoad, 8> loads;
  std::size_t size = 0;
};

TEST(AcceptGate, AloneItAcceptsEverybody) {
  Workers workers{100'000};
  AcceptGate gate(workers.span(), 0);
  EXPECT_TRUE(gate.may_accept(kStart));
}

TEST(AcceptGate, AcceptsUpToTheLeastOfItsPeersPlusAnEighth) {
  Workers workers{9, 8, 50};
  AcceptGate gate(workers.span(), 0);
  EXPECT_TRUE(gate.may_accept(kStart));
  workers.loads[0].connections = 10;
  EXPECT_FALSE(gate.may_accept(kStart));
}

TEST(AcceptGate, WithNobodyConnectedEachTakesOneInTurn) {
  Workers workers{1, 0};
  AcceptGate gate(workers.span(), 0);
  EXPECT_FALSE(gate.may_accept(kStart));
  workers.loads[1].connections = 1;
  EXPECT_TRUE(gate.may_accept(kStart));
}

TEST(AcceptGate, APeerThatDoesNotAcceptDoesNotCount) {
  Workers workers{10, 0};
  workers.loads[1].accepting = false;
  AcceptGate gate(workers.span(), 0);
  EXPECT_TRUE(gate.may_accept(kStart));
}

TEST(AcceptGate, TakesOneThatNobodyTakesAndIsPatientAnew) {
  Workers workers{10, 0};
  AcceptGate gate(workers.span(), 0);
  EXPECT_FALSE(gate.may_accept(kStart));
  EXPECT_FALSE(gate.may_accept(kStart + AcceptGate::kPatience - 1ns));
  EXPECT_TRUE(gate.may_accept(kStart + AcceptGate::kPatience));
  EXPECT_FALSE(gate.may_accept(kStart + AcceptGate::kPatience + 1ns));
}

TEST(AcceptGate, PatienceStartsAnewWhenSomebodyElseTookTheClient) {
  Workers workers{10, 0};
  AcceptGate gate(workers.span(), 0);
  EXPECT_FALSE(gate.may_accept(kStart));
  gate.nobody_waits();
  EXPECT_FALSE(gate.may_accept(kStart + AcceptGate::kPatience));
}

}  // namespace
}  // namespace m0::server
