#include "m0/server/exchange_pool.hpp"

namespace m0::server {

handler::Exchange* ExchangePool::take() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<handler::Exchange>(budget_));
    free_.reserve(all_.capacity());
    return all_.back().get();
  }
  handler::Exchange* exchange = free_.back();
  free_.pop_back();
  return exchange;
}

void ExchangePool::give_back(handler::Exchange* exchange) noexcept {
  exchange->reset();
  if (exchange->wire.capacity() > kKeepBytes) exchange->wire = std::string();
  if (exchange->head_storage.capacity() > kKeepBytes) exchange->head_storage = std::string();
  if (exchange->response.body.bytes.capacity() > kKeepBytes) exchange->response.body.bytes = std::string();
  free_.push_back(exchange);  // take() reserved the room
}

}  // namespace m0::server
