// A connection's bytes at once and in pieces of random sizes: the same events, and the same answers.

#include "m0/http/h1_session.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "m0/base/check.hpp"

#include "input.hpp"

namespace {

using namespace m0::http;

class Transcript final : public SessionEvents {
 public:
  void on_head(StreamId stream, const RequestHead& head) override {
    M0_CHECK(stream != 0 && !open_);
    open_ = true;
    note("head");
    for (const std::string_view part : {head.method, head.target, head.path, head.query, head.authority}) note(part);
    for (const Field& field : head.fields) {
      note(field.name);
      note(field.value);
    }
    log_ += head.keep_alive ? 'k' : 'c';
    log_ += head.expect_continue ? 'e' : '-';
  }
  void on_body(StreamId /*stream*/, std::string_view bytes) override {
    M0_CHECK(open_ && !bytes.empty());
    body_ += bytes;
  }
  void on_request_end(StreamId /*stream*/) override {
    M0_CHECK(open_);
    open_ = false;
    flush();
    note("end");
    ended_ = true;
  }
  void on_protocol_error(StreamId /*stream*/, int status, const char* why) override {
    flush();
    note(std::to_string(status));
    note(why);
  }

  [[nodiscard]] bool take_end() noexcept { return std::exchange(ended_, false); }
  std::string finish() {
    flush();
    return log_;
  }

 private:
  void note(std::string_view text) {
    log_ += std::to_string(text.size()) + (text.data() == nullptr ? "!" : ":");
    log_ += text;
  }
  void flush() {
    if (!body_.empty()) note(body_);
    body_.clear();
  }

  std::string log_;
  std::string body_;
  bool open_ = false;
  bool ended_ = false;
};

template <class NextSize>
std::string run(const Limits& limits, std::string_view bytes, NextSize next_size) {
  H1Context context{limits, {}};
  H1Session session(context);
  Transcript transcript;
  std::string out;
  int requests = 0;
  while (!bytes.empty() && !session.paused()) {
    const std::string block(bytes.substr(0, next_size(bytes.size())));  // its end is watched by the sanitizer
    const std::size_t used = session.receive(block, transcript);
    M0_CHECK(used <= block.size());
    M0_CHECK(used == block.size() || session.paused());
    bytes.remove_prefix(used);
    if (!transcript.take_end()) continue;
    // Answers of each kind, the same for every way to cut the input.
    ++requests;
    ResponseHead head;
    head.status = requests % 4 == 3 ? 304 : 200;
    const BodyLength length = requests % 2 == 0 ? BodyLength(5) : BodyLength();
    session.begin_answer(1, head, length, {}, false, out);
    session.append_body(1, "hello", out);
    session.end_answer(1, out);
    M0_CHECK(session.paused() != session.keep_alive());
  }
  return transcript.finish() + (session.mid_request() ? " mid " : " idle ") + out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  m0::fuzz::Input input(data, size);
  const Limits limits = m0::fuzz::limits_from(input.byte());
  std::minstd_rand random(1U + input.byte());
  const unsigned longest = 1U + input.byte() % 64;

  const std::string whole = run(limits, input.rest(), [](std::size_t left) { return left; });
  const std::string split = run(limits, input.rest(), [&](std::size_t) { return 1 + random() % longest; });
  M0_CHECK(whole == split);
  return 0;
}
