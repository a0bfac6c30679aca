#pragma once
// Reads a request's body in order, for as long as the request lives. Knows nothing of Python.

#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "m0/handler/body_store.hpp"

namespace m0::python {

/// Any thread, until and after detach(): a view may hand its input to a helper thread that outlives the request. The
/// lock is never held while waiting for an interpreter lock, and detach() waits for a read that runs.
class BodyReader {
 public:
  static constexpr std::size_t kAll = SIZE_MAX;

  /// Bytes that belong to the caller alone: a following claim begins behind them.
  struct Claim {
    std::uint64_t offset = 0;
    std::size_t size = 0;
  };
  enum class Status : std::uint8_t { Ok, Over, Failed };  // Over: the request has ended. Failed: see error()

  void attach(const handler::BodyStore& body) noexcept;
  void detach() noexcept;

  /// Whether reading waits for no disk. False once detached.
  [[nodiscard]] bool in_memory() noexcept;
  /// Claims up to `most` bytes; an empty claim at the end.
  [[nodiscard]] Status claim(std::size_t most, Claim& claimed) noexcept;
  /// Claims up to and with the next "\n", at most `most` bytes. May read the file.
  [[nodiscard]] Status claim_line(std::size_t most, Claim& claimed) noexcept;
  /// Fills `into` with the claimed bytes (into.size() of them).
  [[nodiscard]] Status fill(const Claim& claimed, std::span<char> into) noexcept;
  /// The errno of the last failure on this thread.
  [[nodiscard]] static int error() noexcept;

 private:
  /// Body bytes from `offset`: in memory, or read ahead into ahead_. Empty at the end or on failure (error() != 0).
  [[nodiscard]] std::span<const char> look(std::uint64_t offset);

  static constexpr std::size_t kReadAhead = 16 * 1024;

  std::mutex mutex_;
  const handler::BodyStore* body_ = nullptr;
  std::uint64_t position_ = 0;
  std::string ahead_;  // of a body in a file: lines are cut from here
  std::uint64_t ahead_offset_ = 0;
};

}  // namespace m0::python
