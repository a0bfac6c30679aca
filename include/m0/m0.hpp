#pragma once
// The front door of m0serve for programs written in C++. docs/handler-pool.md is its guide.

#include "m0/handler/loop_handler.hpp"
#include "m0/handler/pool_handler.hpp"
#include "m0/handler/request.hpp"
#include "m0/handler/response.hpp"
#include "m0/native/router.hpp"
#include "m0/native/server.hpp"
#include "m0/pool/thread_context.hpp"
#include "m0/pubsub/presence.hpp"
#include "m0/pubsub/publisher.hpp"

namespace m0 {

using handler::LoopContext;
using handler::LoopHandler;
using handler::PoolHandler;
using handler::Produced;
using handler::Producer;
using handler::Request;
using handler::Response;
using native::looped;
using native::pooled;
using native::Router;
using native::serve;
using native::Server;
using pool::ThreadContext;
using pubsub::close_channel;
using pubsub::close_connection;
using pubsub::EventId;
using pubsub::Farewell;
using pubsub::NewEvent;
using pubsub::Presence;
using pubsub::presence;
using pubsub::publish;
using pubsub::PublishError;
using pubsub::send;
using pubsub::to_text;

}  // namespace m0
