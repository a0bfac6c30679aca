#include "m0/server/spin_gate.hpp"

namespace m0::server {
namespace {

unsigned tries_in(SpinGate& gate, unsigned asked, bool it_comes) {
  unsigned tries = 0;
  for (unsigned i = 0; i < asked; ++i) {
    if (!gate.worth_trying()) continue;
    ++tries;
    gate.tried(it_comes);
  }
  return tries;
}

TEST(SpinGate, TriesRarelyUntilItPays) {
  SpinGate gate(true);
  EXPECT_EQ(tries_in(gate, 6400, false), 100U);
  const unsigned tries = tries_in(gate, 1000, true);
  EXPECT_GE(tries, 900U) << "one success is enough to try again at once";
}

TEST(SpinGate, FailuresMakeItShyFast) {
  SpinGate gate(true);
  tries_in(gate, 10'000, true);
  EXPECT_LE(tries_in(gate, 1000, false), 4U + 1000U / 64U);
}

TEST(SpinGate, OneFailureInMoreThanFourIsTooMany) {
  SpinGate gate(true);
  tries_in(gate, 1000, true);
  unsigned tries = 0;
  for (unsigned i = 0; i < 6400; ++i) {
    if (!gate.worth_trying()) continue;
    gate.tried(++tries % 3 != 0);
  }
  EXPECT_LT(tries, 6400U / 8) << "a third of the looks in vain is no gain";
}

TEST(SpinGate, NeverWithoutAProcessorToSpare) {
  SpinGate gate(false);
  EXPECT_EQ(tries_in(gate, 1000, true), 0U);
}

}  // namespace
}  // namespace m0::server
