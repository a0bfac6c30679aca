#pragma once
// Exchanges that are used again, with the room they have grown.

#include <cstddef>
#include <memory>
#include <vector>

#include "m0/handler/exchange.hpp"

namespace m0::server {

/// The loop's thread.
class ExchangePool {
 public:
  explicit ExchangePool(handler::BodyBudget& budget) noexcept : budget_(budget) {}

  [[nodiscard]] handler::Exchange* take();
  /// The pool threads have let go of it. It may be gone afterwards.
  void give_back(handler::Exchange* exchange) noexcept;

  static constexpr std::size_t kKeepBytes = 16 * 1024;  // of each buffer of a free exchange
  static constexpr std::size_t kKeep = 256;             // free exchanges
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  handler::BodyBudget& budget_;
  std::vector<std::unique_ptr<handler::Exchange>> all_;
  std::vector<handler::Exchange*> free_;
};

}  // namespace m0::server
