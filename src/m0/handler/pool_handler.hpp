#pragma once
// A handler that may block: it runs on the threads of a lane.

#include <concepts>

#include "m0/handler/request.hpp"
#include "m0/handler/response.hpp"
#include "m0/pool/thread_context.hpp"

namespace m0::handler {

/// Each thread of the lane has one of its own, made and ended on that very thread, so it needs no locks for what it
/// holds (a database connection, say).
///
///   static H make(const ThreadContext&)   once, before the thread's first request; what it throws refuses the start
///   Response handle(const Request&)       one request at a time; what it throws is a 500
///   void shutdown()                       once, after the thread's last request
///
/// It may block in system calls for as long as it likes: others wait only when all threads of its lane do. It cannot
/// answer with Response::stream() (see handler/stream_gate.hpp).
template <class H>
concept PoolHandler =
    std::movable<H> && requires(H handler, const Request& request, const pool::ThreadContext& thread) {
      { H::make(thread) } -> std::same_as<H>;
      { handler.handle(request) } -> std::same_as<Response>;
      { handler.shutdown() } -> std::same_as<void>;
    };

}  // namespace m0::handler
