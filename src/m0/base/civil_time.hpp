#pragma once
// Calendar time in UTC by arithmetic alone. gmtime_r and localtime_r take a lock of libc that another thread may hold
// while this one forks.

#include <chrono>
#include <cstdint>
#include <string>

#include "m0/base/bytes.hpp"

namespace m0::base {

struct CivilTime {
  int year = 1970;
  unsigned month = 1;  // from 1
  unsigned day = 1;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
};

/// Seconds since 1970 without leap seconds, as the kernel counts them.
[[nodiscard]] constexpr CivilTime to_civil(std::int64_t unix_seconds) noexcept {
  const std::chrono::sys_seconds at{std::chrono::seconds(unix_seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const auto rest = static_cast<unsigned>((at - day).count());
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          rest / 3600,
          rest / 60 % 60,
          rest % 60};
}

/// Appends a number with leading zeros, `width` digits wide.
inline void append_padded(std::string& out, unsigned value, unsigned width) {
  unsigned scale = 1;
  for (unsigned i = 1; i < width; ++i) scale *= 10;
  for (; scale != 0; scale /= 10) out.push_back(static_cast<char>('0' + value / scale % 10));
}

/// Appends "2026-02-03T04:05:06".
inline void append_iso_seconds(std::string& out, std::int64_t unix_seconds) {
  const CivilTime t = to_civil(unix_seconds);
  append_padded(out, static_cast<unsigned>(t.year), 4);
  out.push_back('-');
  append_padded(out, t.month, 2);
  out.push_back('-');
  append_padded(out, t.day, 2);
  out.push_back('T');
  append_padded(out, t.hour, 2);
  out.push_back(':');
  append_padded(out, t.minute, 2);
  out.push_back(':');
  append_padded(out, t.second, 2);
}

/// Appends "2026-02-03T04:05:06.789Z".
inline void append_iso_milliseconds(std::string& out, std::chrono::system_clock::time_point at) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch()).count();
  const std::int64_t seconds = ms >= 0 ? ms / 1000 : (ms - 999) / 1000;
  append_iso_seconds(out, seconds);
  out.push_back('.');
  append_padded(out, static_cast<unsigned>(ms - seconds * 1000), 3);
  out.push_back('Z');
}

}  // namespace m0::base
