#include "m0/handler/stream_gate.hpp"

#include "m0/handler/problem.hpp"

namespace m0::handler {

bool refuse_stream(AnsweredBy by, Response& response) {
  if (response.body.kind != ResponseBody::Kind::Stream || can_stream(by)) return false;
  make_problem(409,
               "Response::stream() asks the event loop to run its producer, and this answer was made on a pool thread: "
               "answer it from a LoopHandler, or give the body whole.",
               response);
  return true;
}

}  // namespace m0::handler
