#pragma once
// A handler that promises not to block: it runs on the loop itself.

#include <concepts>

#include "m0/handler/request.hpp"
#include "m0/handler/response.hpp"

namespace m0::handler {

/// Whose loop it is.
struct LoopContext {
  unsigned worker = 0;  // index of the worker process, from 0
};

/// A worker has one, made and destroyed on its loop's thread. While it runs, no other connection of the worker is
/// served: it answers from memory, and never waits for a lock, a file, a socket or another process.
///
///   static H make(const LoopContext&)     once, before the first request; what it throws refuses the start
///   Response handle(const Request&)       one request at a time; what it throws is a 500
///
/// It may answer with Response::stream(): the loop runs the producer as the client takes what it makes.
template <class H>
concept LoopHandler = std::movable<H> && requires(H handler, const Request& request, const LoopContext& loop) {
  { H::make(loop) } -> std::same_as<H>;
  { handler.handle(request) } -> std::same_as<Response>;
};

}  // namespace m0::handler
