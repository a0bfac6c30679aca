#pragma once
// What a handler answers.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "m0/base/fd.hpp"
#include "m0/http/response_head.hpp"

namespace m0::handler {

/// Bytes that live elsewhere (a large Python buffer). Read by the loop; released by whoever owns them, on the owner's
/// terms: the loop only calls give_back(), which must not block, throw, or run application code.
class ForeignBytes {
 public:
  virtual ~ForeignBytes() = default;
  [[nodiscard]] virtual std::string_view bytes() const noexcept = 0;
  /// The loop has sent them or will not. Called once, on the loop's thread; the object is not touched afterwards.
  virtual void give_back() noexcept = 0;
};

/// What a producer says after it has appended some bytes.
enum class Produced : std::uint8_t {
  More,  // ask again when there is room
  Last,  // that was all
};

/// Makes a body piece by piece, on the loop's thread, whenever there is room for more: appends at least one byte to
/// `out`, or says Last. It must not block. What it throws ends the connection without a proper end.
using Producer = std::move_only_function<Produced(std::string& out)>;

/// The body of an answer; exactly one kind.
struct ResponseBody {
  enum class Kind : std::uint8_t {
    Bytes,    // `bytes`, whole (also the empty body)
    Foreign,  // `foreign`, whole
    File,     // `file_length` bytes of `file` from `file_offset`
    Window,   // unsized: the exchange's BodyWindow carries it; or sized by `declared`
    Stream,   // unsized: `producer`, run by the loop. Only of an answer that was made on the loop (see stream_gate)
  };
  Kind kind = Kind::Bytes;
  std::string bytes;
  ForeignBytes* foreign = nullptr;
  base::Fd file;
  std::uint64_t file_offset = 0;
  std::uint64_t file_length = 0;
  http::BodyLength declared;  // of Window: the Content-Length that the application gave
  Producer producer;

  void clear() noexcept {
    kind = Kind::Bytes;
    bytes.clear();
    if (foreign != nullptr) std::exchange(foreign, nullptr)->give_back();
    file.reset();
    file_offset = file_length = 0;
    declared.reset();
    producer = nullptr;
  }
};

/// A handler makes one with the functions below. Any thread.
struct Response {
  http::ResponseHead head;
  ResponseBody body;

  /// text/plain in UTF-8.
  [[nodiscard]] static Response text(std::string body, int status = 200);
  /// application/json: a text that is JSON already.
  [[nodiscard]] static Response json(std::string body, int status = 200);
  /// Any other type.
  [[nodiscard]] static Response bytes(std::string_view content_type, std::string body, int status = 200);
  /// Without a body up to 399; from 400 on a problem (RFC 9457) of that status.
  [[nodiscard]] static Response with_status(int status);
  /// application/problem+json; `detail` is for whoever made the request.
  [[nodiscard]] static Response problem(int status, std::string_view detail);
  /// 303 (after a POST) or another redirection.
  [[nodiscard]] static Response redirect(std::string_view location, int status = 303);
  /// The file, sent by the kernel, read as it is now: its size is told, and one that is cut meanwhile cuts the
  /// connection. The type is told by the name's ending unless one is given. 404 where there is no such regular file,
  /// 403 where it may not be read. The path is the caller's to check; opening may block on a slow disk.
  [[nodiscard]] static Response file(const std::string& path, std::string_view content_type = {});
  /// Holds the connection as an event stream that gets what is published to these channels; `head` is sent first, as it
  /// is. set("M0-Replay", "10") and the other fields of docs/realtime.md say more. From both kinds of handlers.
  [[nodiscard]] static Response hold(std::initializer_list<std::string_view> channels, std::string head = {});
  /// The same as a WebSocket, whose first frame is `first` unless that is empty. What comes over it is a POST to the
  /// same path, with M0-Event.
  [[nodiscard]] static Response hold_websocket(std::initializer_list<std::string_view> channels,
                                               std::string first = {});
  /// A body that the loop makes as the client takes it. Only from a LoopHandler: from a pool thread it becomes a 409.
  [[nodiscard]] static Response stream(std::string_view content_type, Producer producer);

  /// Sets a field, in place of any of that name. Throws std::invalid_argument for a name or value that cannot go on the
  /// wire (a line break in it, say).
  Response& set(std::string_view name, std::string_view value) &;
  Response&& set(std::string_view name, std::string_view value) && { return std::move(set(name, value)); }
  /// Adds a field beside others of that name (Set-Cookie). Throws like set().
  Response& add(std::string_view name, std::string_view value) &;
  Response&& add(std::string_view name, std::string_view value) && { return std::move(add(name, value)); }

  void clear() noexcept {
    head.clear();
    body.clear();
  }
};

}  // namespace m0::handler
