#pragma once
// What a handler written in C++ is asked: a view of the exchange, nothing is copied.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "m0/handler/exchange.hpp"

namespace m0::handler {

/// Valid while handle() runs, and so is every view that it gives. The thread that runs the handler.
class Request {
 public:
  /// A part of the path that a router named: "id" in "/items/:id".
  struct Param {
    std::string_view name;
    std::string value;  // percent-decoded
  };

  explicit Request(const Exchange& exchange) noexcept : exchange_(&exchange) {}

  [[nodiscard]] std::string_view method() const noexcept { return exchange_->request.method; }
  /// The request-target as it was sent, query included.
  [[nodiscard]] std::string_view target() const noexcept { return exchange_->request.target; }
  /// The path below the mount, percent-encoded as it was sent; it begins with a slash ("*" of OPTIONS * apart).
  [[nodiscard]] std::string_view path() const noexcept;
  /// The part of the path that names the mount, as it was sent: empty at the root.
  [[nodiscard]] std::string_view mount() const noexcept;
  /// After the "?", without it.
  [[nodiscard]] std::string_view query() const noexcept { return exchange_->request.query; }
  /// The first value of that name in the query, decoded as an HTML form encodes it ("+" is a space); none: nullopt.
  [[nodiscard]] std::optional<std::string> query_value(std::string_view name) const;

  /// The fields in their order, names as sent, values without surrounding whitespace.
  [[nodiscard]] std::span<const http::Field> fields() const noexcept { return exchange_->request.fields; }
  /// The first value of that name, whatever its case; empty where there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept { return exchange_->request.find(name); }

  [[nodiscard]] std::uint64_t body_size() const noexcept { return exchange_->body.size(); }
  /// The whole body, where it is in memory: one of up to 64 KiB is. Empty for a larger one: read_body().
  [[nodiscard]] std::string_view body() const noexcept { return exchange_->body.memory(); }
  /// Reads up to into.size() bytes of the body from `offset`: 0 at the end, -1 with errno where the file fails.
  [[nodiscard]] std::ptrdiff_t read_body(std::uint64_t offset, std::span<char> into) const noexcept {
    return exchange_->body.read_at(offset, into);
  }
  /// The whole body, whatever its size. Throws std::system_error where the file fails.
  [[nodiscard]] std::string whole_body() const;

  [[nodiscard]] const PeerAddress& peer() const noexcept { return exchange_->peer; }
  /// The client is gone, or has ended its side of the connection; a long handler may ask at any time.
  [[nodiscard]] bool client_left() const noexcept { return exchange_->client_left(); }

  /// What its connection is called, if it is held or will be: for m0::send and m0::close_connection.
  [[nodiscard]] std::string connection() const { return pubsub::to_text(exchange_->connection_id); }

  /// What a router matched; empty where it named nothing so.
  [[nodiscard]] std::string_view param(std::string_view name) const noexcept;
  /// The same request with what a router matched; the params outlive it.
  [[nodiscard]] Request with_params(std::span<const Param> params) const noexcept {
    Request routed = *this;
    routed.params_ = params;
    return routed;
  }

 private:
  const Exchange* exchange_;
  std::span<const Param> params_;
};

}  // namespace m0::handler
