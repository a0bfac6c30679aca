#pragma once
// When each held client is due: buckets of a second in place of a timer each.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "m0/base/clock.hpp"
#include "m0/base/intrusive_list.hpp"

namespace m0::held {

class Client;
struct DueTag;

/// The loop.
class Calendar {
 public:
  using List = base::IntrusiveList<Client, DueTag>;

  /// Of its clock, which begins at 1: 0 is "never".
  [[nodiscard]] std::uint32_t second_of(base::Instant now) const noexcept {
    return 1 + static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(now - epoch_).count());
  }
  /// The one that was ticked last.
  [[nodiscard]] std::uint32_t second() const noexcept { return ticked_; }

  /// Where its due() says, or anew where that has changed. Later than the buckets go round: looked at once a round.
  void schedule(Client& client) noexcept;
  /// Calls visit(client, second) for each that is due; true: it will be due again.
  template <class Visit>
  void tick(base::Instant now, Visit&& visit);
  /// Takes one off; null: there is none left.
  [[nodiscard]] Client* pop() noexcept;
  [[nodiscard]] std::size_t size() noexcept;

 private:
  [[nodiscard]] static std::uint32_t due(const Client& client) noexcept;

  static constexpr std::size_t kBuckets = 64;
  const base::Instant epoch_ = base::now();
  std::uint32_t ticked_ = 0;        // up to this second
  std::array<List, kBuckets> due_;  // by the second, modulo
};

template <class Visit>
void Calendar::tick(base::Instant now, Visit&& visit) {
  const std::uint32_t until = second_of(now);
  // After a long stall each bucket is looked at once.
  if (until - ticked_ > kBuckets) ticked_ = until - static_cast<std::uint32_t>(kBuckets);
  while (ticked_ < until) {
    ++ticked_;
    List& bucket = due_[ticked_ % kBuckets];
    List later;
    while (Client* const client = bucket.pop_front()) {
      // Those of a later round, and those that have done what was due and will be due again.
      if (due(*client) > until || visit(*client, until)) later.push_back(*client);
    }
    while (Client* const client = later.pop_front()) schedule(*client);
  }
}

}  // namespace m0::held
