#include "m0/http/response_writer.hpp"

#include <cstring>

#include "m0/base/bytes.hpp"

namespace m0::http {
namespace {

using base::iequals;

/// What becomes of one field of the application's.
enum class Fate : std::uint8_t { Keep, Drop, Connection, Length, Date, Server, Upgrade };

// Fields about the connection are ours to write (RFC 9110 7.6.1). Names are told apart by length first: most fields of
// an answer are compared with nothing.
Fate fate_of(std::string_view name) noexcept {
  switch (name.size()) {
    case 2: return iequals(name, "te") ? Fate::Drop : Fate::Keep;
    case 4: return iequals(name, "date") ? Fate::Date : Fate::Keep;
    case 6: return iequals(name, "server") ? Fate::Server : Fate::Keep;
    case 7:
      if (iequals(name, "upgrade")) return Fate::Upgrade;
      return iequals(name, "trailer") ? Fate::Drop : Fate::Keep;
    case 10:
      if (iequals(name, "connection")) return Fate::Connection;
      return iequals(name, "keep-alive") ? Fate::Drop : Fate::Keep;
    case 14: return iequals(name, "content-length") ? Fate::Length : Fate::Keep;
    case 16: return iequals(name, "proxy-connection") ? Fate::Drop : Fate::Keep;
    case 17: return iequals(name, "transfer-encoding") ? Fate::Drop : Fate::Keep;
    default: return Fate::Keep;
  }
}

bool has_option(std::string_view list, std::string_view option) noexcept {
  for (;;) {
    const std::size_t comma = list.find(',');
    if (iequals(base::trim_ows(list.substr(0, comma)), option)) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

bool is_length(std::string_view value) noexcept {
  return !value.empty() && value.size() <= 19 && value.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Writes into room that was measured before.
class Pen {
 public:
  explicit Pen(char* at) noexcept : at_(at) {}
  void put(std::string_view text) noexcept {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void put_field(std::string_view name, std::string_view value) noexcept {
    put(name);
    put(": ");
    put(value);
    put("\r\n");
  }
  void put_status(int status) noexcept {
    *at_++ = static_cast<char>('0' + status / 100 % 10);
    *at_++ = static_cast<char>('0' + status / 10 % 10);
    *at_++ = static_cast<char>('0' + status % 10);
  }
  void put_decimal(std::uint64_t value) noexcept {
    char digits[20];
    char* first = digits + sizeof digits;
    do {
      *--first = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    put({first, static_cast<std::size_t>(digits + sizeof digits - first)});
  }
  [[nodiscard]] char* at() const noexcept { return at_; }

 private:
  char* at_;
};

// "HTTP/1.1 200 ", the framing fields with the longest values and names, the names of Date and Server, CRLFs.
constexpr std::size_t kFixedRoom = 256;

}  // namespace

AnswerStarted write_head(const ResponseHead& head, BodyLength length, AnswerTo to, const AnswerContext& context,
                         bool close, std::string& out) {
  close = close || context.stopping || !to.keep_alive;
  AnswerFraming framing = AnswerFraming::None;
  if (!to.head_method && !status_forbids_body(head.status)) {
    framing = length ? AnswerFraming::Length : to.http10 ? AnswerFraming::Close : AnswerFraming::Chunked;
  }
  close = close || framing == AnswerFraming::Close;

  const std::string_view reason = head.reason.empty() ? reason_phrase(head.status) : std::string_view(head.reason);
  const std::size_t before = out.size();
  const std::size_t room = kFixedRoom + reason.size() + context.date.size() + context.server.size() +
                           head.fields.byte_size() + 4 * head.fields.size();
  const auto write = [&](char* data) noexcept {
    Pen pen(data + before);
    pen.put("HTTP/1.1 ");
    pen.put_status(head.status);
    pen.put(" ");
    pen.put(reason);
    pen.put("\r\n");

    bool date = context.date.empty();
    bool server = context.server.empty();
    bool upgrade = false;
    std::string_view declared;
    for (std::size_t i = 0; i < head.fields.size(); ++i) {
      const Field field = head.fields[i];
      switch (fate_of(field.name)) {
        case Fate::Drop: continue;
        case Fate::Connection: close = close || has_option(field.value, "close"); continue;
        case Fate::Length:
          if (declared.empty() && is_length(field.value)) declared = field.value;
          continue;
        case Fate::Upgrade:
          // RFC 9110 15.5.22: a 426 has to name the protocol.
          if (head.status != 426) continue;
          upgrade = true;
          break;
        case Fate::Date: date = true; break;
        case Fate::Server: server = true; break;
        case Fate::Keep: break;
      }
      pen.put_field(field.name, field.value);
    }

    if (!date) pen.put_field("Date", context.date);
    if (!server) pen.put_field("Server", context.server);
    if (framing == AnswerFraming::Length) {
      pen.put("Content-Length: ");
      pen.put_decimal(*length);
      pen.put("\r\n");
    } else if (framing == AnswerFraming::Chunked) {
      pen.put("Transfer-Encoding: chunked\r\n");
    } else if (framing == AnswerFraming::None && head.status != 204 && head.status >= 200) {
      // RFC 9110 8.6: in an answer to HEAD and in a 304 it is what a GET would have had, or absent. An empty body says
      // nothing of that.
      if (!declared.empty()) {
        pen.put_field("Content-Length", declared);
      } else if (to.head_method && head.status != 304 && length.value_or(0) != 0) {
        pen.put("Content-Length: ");
        pen.put_decimal(*length);
        pen.put("\r\n");
      }
    }
    if (close) {
      pen.put(upgrade ? "Connection: close, upgrade\r\n" : "Connection: close\r\n");
    } else if (upgrade) {
      pen.put(to.http10 ? "Connection: keep-alive, upgrade\r\n" : "Connection: upgrade\r\n");
    } else if (to.http10) {
      pen.put("Connection: keep-alive\r\n");
    }
    pen.put("\r\n");
    return static_cast<std::size_t>(pen.at() - data);
  };
  out.resize_and_overwrite(before + room, [&](char* data, std::size_t) noexcept { return write(data); });
  return {framing, close};
}

void append_chunk(std::string_view bytes, std::string& out) {
  if (bytes.empty()) return;
  char digits[16];
  char* first = digits + sizeof digits;
  for (std::size_t size = bytes.size(); size != 0; size >>= 4) *--first = "0123456789abcdef"[size & 15];
  out.append(first, static_cast<std::size_t>(digits + sizeof digits - first));
  out.append("\r\n");
  out.append(bytes);
  out.append("\r\n");
}

}  // namespace m0::http
