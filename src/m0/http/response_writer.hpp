#pragma once
// Writes the head of an answer with the framing that its request allows (RFC 9112 section 6).

#include <cstdint>
#include <string>

#include "m0/http/response_head.hpp"
#include "m0/http/session.hpp"

namespace m0::http {

enum class AnswerFraming : std::uint8_t {
  None,     // no body follows, whatever the head says
  Length,   // as many bytes as were declared
  Chunked,  // RFC 9112 7.1
  Close,    // all until the connection ends
};

/// What an answer has to know of its request.
struct AnswerTo {
  bool http10 = false;
  bool head_method = false;
  bool keep_alive = true;  // what the client asked for
};

struct AnswerStarted {
  AnswerFraming framing;
  bool close;  // "Connection: close" was written
};

/// Appends the head. One pass, at most one growth of `out`. Any thread.
AnswerStarted write_head(const ResponseHead& head, BodyLength length, AnswerTo to, const AnswerContext& context,
                         bool close, std::string& out);

/// Frames one chunk; nothing at all for no bytes, since an empty chunk would end the body.
void append_chunk(std::string_view bytes, std::string& out);

}  // namespace m0::http
