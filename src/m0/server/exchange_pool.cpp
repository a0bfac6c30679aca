#include "m0/server/exchange_pool.hpp"

#include "m0/base/bytes.hpp"

namespace m0::server {

handler::Exchange* ExchangePool::take() {
  if (free_.empty()) {
    free_.reserve(kKeep);
    all_.push_back(std::make_unique<handler::Exchange>(budget_));
    all_.back()->pool_index = all_.size() - 1;
    return all_.back().get();
  }
  handler::Exchange* exchange = free_.back();
  free_.pop_back();
  return exchange;
}

void ExchangePool::give_back(handler::Exchange* exchange) noexcept {
  if (free_.size() >= kKeep) {
    // A burst is over: what it needed is not kept for the next one, which may never come.
    const std::size_t index = exchange->pool_index;
    all_[index].swap(all_.back());
    all_[index]->pool_index = index;
    all_.pop_back();
    return;
  }
  exchange->reset();
  for (std::string* buffer : {&exchange->wire, &exchange->head_storage, &exchange->response.body.bytes}) {
    if (buffer->capacity() > kKeepBytes) base::free_room(*buffer);
  }
  free_.push_back(exchange);  // take() reserved the room
}

}  // namespace m0::server
