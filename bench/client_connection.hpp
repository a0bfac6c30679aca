#pragma once
// One connection of the measuring client: asks one thing at a time.

#include <cstdint>
#include <string>
#include <string_view>

#include "m0/base/fd.hpp"

#include "answer_reader.hpp"

namespace m0::bench {

/// A connection to 127.0.0.1 that asks the same path again and again. One thread.
class ClientConnection {
 public:
  enum class Outcome : std::uint8_t { Waiting, Answered, Failed };

  /// `keep`: whether the server may keep the connection; otherwise every question opens one of its own, as for a server
  /// that keeps none.
  ClientConnection(std::uint16_t port, std::string_view path, bool keep);

  /// Sends the question, connecting first where no connection is open. False: it could not be sent.
  [[nodiscard]] bool ask(int epoll, std::uint64_t tag);

  /// Reads what has come. After `Answered` or `Failed` it may be asked again.
  [[nodiscard]] Outcome receive();

  [[nodiscard]] bool busy() const noexcept { return busy_; }

 private:
  [[nodiscard]] bool connect(int epoll, std::uint64_t tag);
  Outcome finish(Outcome outcome);

  base::Fd fd_;
  AnswerReader reader_;
  std::string question_;
  std::uint16_t port_;
  bool keep_;
  bool busy_ = false;
};

}  // namespace m0::bench
