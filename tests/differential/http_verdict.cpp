// Reads inputs from standard input, each preceded by its length as four bytes in network order, and writes one line for
// each about the first request in it:
//   accept USED BODY   the request ends after USED bytes of the input, its body has BODY bytes
//   refuse STATUS WHY
//   incomplete

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "m0/http/h1_session.hpp"

namespace {

using namespace m0::http;

struct Verdict final : SessionEvents {
  void on_head(StreamId /*stream*/, const RequestHead& /*head*/) override {}
  void on_body(StreamId /*stream*/, std::string_view bytes) override { body += bytes.size(); }
  void on_request_end(StreamId /*stream*/) override { ended = true; }
  void on_protocol_error(StreamId /*stream*/, int error, const char* reason) override {
    status = error;
    why = reason;
  }

  std::size_t body = 0;
  bool ended = false;
  int status = 0;
  const char* why = "";
};

void judge(H1Context& context, const std::string& bytes) {
  H1Session session(context);
  Verdict verdict;
  const std::size_t used = session.receive(bytes, verdict);
  if (verdict.status != 0) {
    std::printf("refuse %d %s\n", verdict.status, verdict.why);
  } else if (verdict.ended) {
    std::printf("accept %zu %zu\n", used, verdict.body);
  } else {
    std::puts("incomplete");
  }
}

}  // namespace

int main() {
  H1Context context;
  std::string bytes;
  std::array<unsigned char, 4> prefix{};
  while (std::fread(prefix.data(), 1, prefix.size(), stdin) == prefix.size()) {
    std::uint32_t size = 0;
    for (const unsigned char byte : prefix) size = size << 8 | byte;
    bytes.resize(size);
    if (std::fread(bytes.data(), 1, size, stdin) != size) return 1;
    judge(context, bytes);
  }
  return 0;
}
