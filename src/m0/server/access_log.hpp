#pragma once
// One line of the access log for each answered request, in which no byte of a request can forge another line, end a
// quoted field or break JSON.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "m0/base/clock.hpp"
#include "m0/server/config.hpp"

namespace m0::server {

/// What is said about one request. The views are the caller's.
struct AccessLogEntry {
  std::chrono::system_clock::time_point time;  // when its head was complete
  std::string_view peer;                       // empty for a Unix socket
  std::string_view method;                     // empty where the request could not be read
  std::string_view target;
  std::string_view protocol = "HTTP/1.1";
  int status = 0;                // 0: the client went before there was one
  std::uint64_t body_bytes = 0;  // of the answer's body, as they went over the wire
  std::string_view referer;
  std::string_view user_agent;
  base::Duration duration{};  // from the head's arrival to the last byte of the answer
  base::Duration queued{};    // of it, waiting for a thread
};

/// One loop's thread.
class AccessLogFormatter {
 public:
  explicit AccessLogFormatter(AccessLogFormat format) noexcept : format_(format) {}

  /// Without the newline.
  [[nodiscard]] std::string line(const AccessLogEntry& entry);

 private:
  void append_combined(std::string& out, const AccessLogEntry& entry);
  void append_json(std::string& out, const AccessLogEntry& entry);
  /// The second's text is made once.
  std::string_view second_text(std::int64_t unix_seconds);

  AccessLogFormat format_;
  std::int64_t cached_second_ = -1;
  std::string cached_text_;
};

}  // namespace m0::server
