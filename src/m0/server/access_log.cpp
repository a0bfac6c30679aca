#include "m0/server/access_log.hpp"

#include <array>
#include <cstddef>

#include "m0/base/bytes.hpp"
#include "m0/base/civil_time.hpp"

namespace m0::server {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

enum class Byte : std::uint8_t { Plain, Escape, Control, High };

constexpr std::array<Byte, 256> kBytes = [] {
  std::array<Byte, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (i < 0x20 || i == 0x7f) {
      table[i] = Byte::Control;
    } else if (i == '"' || i == '\\') {
      table[i] = Byte::Escape;
    } else if (i >= 0x80) {
      table[i] = Byte::High;
    }
  }
  return table;
}();

Byte kind_of(char c) noexcept { return kBytes[static_cast<unsigned char>(c)]; }

void append_hex(std::string& out, std::string_view before, unsigned char byte) {
  out += before;
  out += kHex[byte >> 4U];
  out += kHex[byte & 15U];
}

/// Runs of plain bytes go over in one piece; special(position) handles one place and returns how many bytes it took.
template <class Special>
void append_runs(std::string& out, std::string_view text, Special special) {
  std::size_t run = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (kind_of(text[i]) == Byte::Plain) {
      ++i;
      continue;
    }
    out.append(text, run, i - run);
    i += special(i);
    run = i;
  }
  out.append(text, run, text.size() - run);
}

/// How many bytes the UTF-8 character at the start of `text` has (RFC 3629: shortest form, no surrogates, up to
/// U+10FFFF); 0 where there is none. Only for a first byte of 0x80 and above.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) -> unsigned { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xc0U) == 0x80U; };
  const unsigned first = at(0);
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && at(1) < 0xa0;
    const bool surrogate = first == 0xed && at(1) > 0x9f;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && at(1) < 0x90;
    const bool beyond = first == 0xf4 && at(1) > 0x8f;
    return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

void append_milliseconds(std::string& out, base::Duration duration) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  const auto whole = static_cast<std::uint64_t>(us > 0 ? us : 0);
  base::append_decimal(out, whole / 1000);
  out += '.';
  base::append_padded(out, static_cast<unsigned>(whole % 1000), 3);
}

void append_status(std::string& out, int status) { base::append_decimal(out, static_cast<std::uint64_t>(status)); }

}  // namespace

void append_quoted_field(std::string& out, std::string_view text) {
  append_runs(out, text, [&](std::size_t i) -> std::size_t {
    if (kind_of(text[i]) == Byte::Escape) {
      out += '\\';
      out += text[i];
    } else {
      append_hex(out, "\\x", static_cast<unsigned char>(text[i]));
    }
    return 1;
  });
}

void append_json_string(std::string& out, std::string_view text) {
  append_runs(out, text, [&](std::size_t i) -> std::size_t {
    const auto byte = static_cast<unsigned char>(text[i]);
    switch (kind_of(text[i])) {
      case Byte::Plain: break;
      case Byte::Escape:
        out += '\\';
        out += text[i];
        return 1;
      case Byte::Control: append_hex(out, "\\u00", byte); return 1;
      case Byte::High: {
        const std::size_t length = utf8_length(text.substr(i));
        if (length == 0) {
          append_hex(out, "\\\\x", byte);
          return 1;
        }
        // U+0080 to U+009F are control characters too, and some terminals obey them.
        if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
          append_hex(out, "\\u00", static_cast<unsigned char>(text[i + 1]));
        } else {
          out.append(text, i, length);
        }
        return length;
      }
    }
    return 1;
  });
}

std::string AccessLogFormatter::line(const AccessLogEntry& entry) {
  std::string out;
  out.reserve(entry.target.size() + entry.referer.size() + entry.user_agent.size() +
              (format_ == AccessLogFormat::Json ? 256 : 112));
  if (format_ == AccessLogFormat::Json) {
    append_json(out, entry);
  } else {
    append_combined(out, entry);
  }
  return out;
}

std::string_view AccessLogFormatter::second_text(std::int64_t unix_seconds) {
  if (unix_seconds == cached_second_) return cached_text_;
  cached_text_.clear();
  if (format_ == AccessLogFormat::Json) {
    base::append_iso_seconds(cached_text_, unix_seconds);
  } else {
    static constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const base::CivilTime t = base::to_civil(unix_seconds);
    base::append_padded(cached_text_, t.day, 2);
    cached_text_ += '/';
    cached_text_ += kMonths[t.month - 1];
    cached_text_ += '/';
    base::append_padded(cached_text_, static_cast<unsigned>(t.year), 4);
    for (const unsigned part : {t.hour, t.minute, t.second}) {
      cached_text_ += ':';
      base::append_padded(cached_text_, part, 2);
    }
    cached_text_ += " +0000";
  }
  cached_second_ = unix_seconds;
  return cached_text_;
}

void AccessLogFormatter::append_combined(std::string& out, const AccessLogEntry& entry) {
  const auto dash_or_quoted = [&out](std::string_view text) {
    if (text.empty()) {
      out += '-';
    } else {
      append_quoted_field(out, text);
    }
  };
  dash_or_quoted(entry.peer);
  out += " - - [";
  out += second_text(std::chrono::floor<std::chrono::seconds>(entry.time).time_since_epoch().count());
  out += "] \"";
  if (entry.method.empty()) {
    out += '-';
  } else {
    append_quoted_field(out, entry.method);
    out += ' ';
    append_quoted_field(out, entry.target);
    out += ' ';
    append_quoted_field(out, entry.protocol);
  }
  out += "\" ";
  if (entry.status == 0) {
    out += '-';
  } else {
    append_status(out, entry.status);
  }
  out += ' ';
  if (entry.body_bytes == 0) {
    out += '-';
  } else {
    base::append_decimal(out, entry.body_bytes);
  }
  out += " \"";
  dash_or_quoted(entry.referer);
  out += "\" \"";
  dash_or_quoted(entry.user_agent);
  out += '"';
}

void AccessLogFormatter::append_json(std::string& out, const AccessLogEntry& entry) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(entry.time);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(entry.time - seconds).count();
  const auto text_member = [&out](std::string_view name, std::string_view text) {
    out += name;
    append_json_string(out, text);
    out += '"';
  };
  out += R"({"time":")";
  out += second_text(seconds.time_since_epoch().count());
  out += '.';
  base::append_padded(out, static_cast<unsigned>(ms), 3);
  out += "Z\"";
  text_member(R"(,"remote_addr":")", entry.peer);
  text_member(R"(,"method":")", entry.method);
  text_member(R"(,"target":")", entry.target);
  text_member(R"(,"protocol":")", entry.protocol);
  out += R"(,"status":)";
  append_status(out, entry.status);
  out += R"(,"bytes":)";
  base::append_decimal(out, entry.body_bytes);
  text_member(R"(,"referer":")", entry.referer);
  text_member(R"(,"user_agent":")", entry.user_agent);
  out += R"(,"duration_ms":)";
  append_milliseconds(out, entry.duration);
  out += R"(,"queued_ms":)";
  append_milliseconds(out, entry.queued);
  out += '}';
}

}  // namespace m0::server
