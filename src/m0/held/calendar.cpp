#include "m0/held/calendar.hpp"

#include "m0/held/client.hpp"

namespace m0::held {

std::uint32_t Calendar::due(const Client& client) noexcept { return client.due(); }

void Calendar::schedule(Client& client) noexcept {
  due_[std::max(client.due(), ticked_ + 1) % kBuckets].push_back(client);
}

Client* Calendar::pop() noexcept {
  for (List& bucket : due_) {
    if (Client* const client = bucket.pop_front()) return client;
  }
  return nullptr;
}

std::size_t Calendar::size() noexcept {
  std::size_t clients = 0;
  for (List& bucket : due_) bucket.for_each([&](Client&) { ++clients; });
  return clients;
}

}  // namespace m0::held
