#pragma once
// A stream socket (TCP or Unix) without encryption.

#include "m0/base/fd.hpp"
#include "m0/net/transport.hpp"

namespace m0::net {

/// One loop's thread.
class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(base::Fd socket) noexcept : socket_(std::move(socket)) {}
  ~TcpTransport() override { close(false); }

  [[nodiscard]] int fd() const noexcept override { return socket_.get(); }
  [[nodiscard]] Moved read(std::span<char> into) noexcept override;
  [[nodiscard]] Moved write(std::span<const iovec> pieces, bool more) noexcept override;
  [[nodiscard]] Moved send_file(int file, std::uint64_t offset, std::size_t count) noexcept override;
  void expect_long_silence() noexcept override;
  void shutdown_write() noexcept override;
  void close(bool reset) noexcept override;

 private:
  base::Fd socket_;
};

}  // namespace m0::net
