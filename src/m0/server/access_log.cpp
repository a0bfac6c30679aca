#include "m0/server/access_log.hpp"

#include <array>
#include <cstddef>

#include "m0/base/bytes.hpp"
#include "m0/base/civil_time.hpp"
#include "m0/base/escape.hpp"

namespace m0::server {
namespace {

void append_milliseconds(std::string& out, base::Duration duration) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  const auto whole = static_cast<std::uint64_t>(us > 0 ? us : 0);
  base::append_decimal(out, whole / 1000);
  out += '.';
  base::append_padded(out, static_cast<unsigned>(whole % 1000), 3);
}

void append_status(std::string& out, int status) { base::append_decimal(out, static_cast<std::uint64_t>(status)); }

}  // namespace

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
      base::append_quoted_field(out, text);
    }
  };
  dash_or_quoted(entry.peer);
  out += " - - [";
  out += second_text(std::chrono::floor<std::chrono::seconds>(entry.time).time_since_epoch().count());
  out += "] \"";
  if (entry.method.empty()) {
    out += '-';
  } else {
    base::append_quoted_field(out, entry.method);
    out += ' ';
    base::append_quoted_field(out, entry.target);
    out += ' ';
    base::append_quoted_field(out, entry.protocol);
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
    base::append_json_string(out, text);
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
