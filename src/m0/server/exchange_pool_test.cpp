#include "m0/server/exchange_pool.hpp"

namespace m0::server {
namespace {

TEST(ExchangePool, UsesThemAgain) {
  handler::BodyBudget budget;
  ExchangePool pool(budget);
  handler::Exchange* const first = pool.take();
  pool.give_back(first);
  EXPECT_EQ(pool.take(), first);
  EXPECT_EQ(pool.size(), 1U);
}

TEST(ExchangePool, KeepsSmallRoomAndGivesLargeBack) {
  handler::BodyBudget budget;
  ExchangePool pool(budget);
  handler::Exchange* const exchange = pool.take();
  exchange->wire.assign(1'000'000, 'w');
  exchange->head_storage.assign(1'000'000, 'h');
  exchange->response.body.bytes.assign(1'000'000, 'b');
  ASSERT_EQ(exchange->body.append(std::string(60'000, 'x')), handler::BodyAppend::Ok);
  pool.give_back(exchange);
  EXPECT_LE(exchange->wire.capacity(), ExchangePool::kKeepBytes);
  EXPECT_LE(exchange->head_storage.capacity(), ExchangePool::kKeepBytes);
  EXPECT_LE(exchange->response.body.bytes.capacity(), ExchangePool::kKeepBytes);
  EXPECT_LE(exchange->body.room(), handler::BodyStore::kKept);

  ASSERT_EQ(pool.take(), exchange);
  exchange->wire.assign(10'000, 'w');
  pool.give_back(exchange);
  EXPECT_GE(exchange->wire.capacity(), 10'000U);
}

TEST(ExchangePool, ABurstIsNotKept) {
  handler::BodyBudget budget;
  ExchangePool pool(budget);
  std::vector<handler::Exchange*> taken;
  for (std::size_t i = 0; i < 4 * ExchangePool::kKeep; ++i) taken.push_back(pool.take());
  EXPECT_EQ(pool.size(), taken.size());
  // In an order that moves them about.
  for (std::size_t i = 0; i < taken.size(); i += 2) pool.give_back(taken[i]);
  for (std::size_t i = 1; i < taken.size(); i += 2) pool.give_back(taken[i]);
  EXPECT_EQ(pool.size(), ExchangePool::kKeep);
  EXPECT_EQ(budget.memory_used, 0U);
  std::vector<handler::Exchange*> again;
  for (std::size_t i = 0; i < 2 * ExchangePool::kKeep; ++i) again.push_back(pool.take());
  std::ranges::sort(again);
  EXPECT_EQ(std::ranges::adjacent_find(again), again.end()) << "each is given once";
}

}  // namespace
}  // namespace m0::server
