#pragma once
// The connections of a measuring client and the epoll that watches them.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>

#include "m0/base/clock.hpp"
#include "m0/base/fd.hpp"

#include "client_connection.hpp"

namespace m0::bench {

/// Asks on many connections and sleeps between answers, so that on two cores one is the server's and the other almost
/// whole. One thread.
class ClientLoop {
 public:
  /// Told of a question that ended: its connection's index, and whether it was answered.
  using Ended = std::function<void(std::size_t, bool)>;

  /// `keep`: whether connections are kept between questions.
  ClientLoop(std::uint16_t port, bool keep);

  /// A connection that will ask `path`; returns its index, the number of those before it.
  std::size_t add(std::string_view path);
  [[nodiscard]] std::size_t size() const noexcept { return connections_.size(); }
  [[nodiscard]] bool busy(std::size_t index) const { return connections_[index].busy(); }
  [[nodiscard]] bool any_busy() const { return std::ranges::any_of(connections_, &ClientConnection::busy); }

  /// False: it could not be sent.
  [[nodiscard]] bool ask(std::size_t index) { return connections_[index].ask(epoll_.get(), index); }

  /// Sleeps until something comes or until `until`; `ended` may ask again.
  void turn(base::Instant until, const Ended& ended);

 private:
  base::Fd epoll_;
  std::deque<ClientConnection> connections_;  // a deque: `ended` may add to it
  std::uint16_t port_;
  bool keep_;
};

/// Ends the sleep of this thread when it is due. The default of 50 us late would be most of what is measured.
void wake_punctually();

}  // namespace m0::bench
