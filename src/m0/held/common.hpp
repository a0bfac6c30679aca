#pragma once
// What the held clients of one loop share.

#include <chrono>
#include <cstdint>
#include <random>
#include <unordered_map>

#include "m0/held/calendar.hpp"
#include "m0/held/config.hpp"
#include "m0/held/websocket_encoding.hpp"
#include "m0/pubsub/event_log.hpp"
#include "m0/pubsub/hub.hpp"
#include "m0/websocket/session.hpp"

namespace m0::held {

class Client;

/// The loop.
struct Common {
  Common(const pubsub::EventLog& event_log, const Config& settings, pubsub::Hub::OnControl on_control)
      : config(settings),
        log(event_log),
        hub(event_log, {}, std::move(on_control)),
        worker(std::random_device{}()),
        random(worker) {
    websockets.max_message = config.max_message;
  }

  [[nodiscard]] std::uint32_t random_below(std::uint32_t bound) {
    return bound == 0 ? 0 : static_cast<std::uint32_t>(random() % bound);
  }
  /// A reconnection time for one of many who are sent away at once, in milliseconds.
  [[nodiscard]] unsigned spread_retry() {
    const auto spread = std::chrono::duration_cast<std::chrono::milliseconds>(config.drain_spread);
    return config.retry_ms + random_below(static_cast<std::uint32_t>(spread.count()));
  }

  const Config config;
  const pubsub::EventLog& log;
  pubsub::Hub hub;
  std::unordered_map<std::uint64_t, Client*> clients;  // by their serials
  const std::uint32_t worker;                          // of the ids of its connections
  Calendar calendar;
  std::size_t incomplete_bytes = 0;  // of messages that have begun to arrive
  std::minstd_rand random;
  websocket::SessionContext websockets;
  WebSocketEncodings encodings;
};

}  // namespace m0::held
