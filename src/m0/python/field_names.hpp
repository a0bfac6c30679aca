#pragma once
// Request fields that nearly every client sends, known by number, so that their environ key and their last value can be
// looked up without building a string.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace m0::python {

struct KnownField {
  std::string_view name;  // lower case: letters and '-' only
  std::string_view key;   // in environ; empty: never reaches the application
  bool keep_value;        // few values that come again: a thread keeps the str it made last. Never for secrets.
};

// clang-format off
inline constexpr std::array kKnownFields = std::to_array<KnownField>({
    {"host", "HTTP_HOST", true},
    {"user-agent", "HTTP_USER_AGENT", true},
    {"accept", "HTTP_ACCEPT", true},
    {"accept-encoding", "HTTP_ACCEPT_ENCODING", true},
    {"accept-language", "HTTP_ACCEPT_LANGUAGE", true},
    {"accept-charset", "HTTP_ACCEPT_CHARSET", true},
    {"connection", "HTTP_CONNECTION", true},
    {"keep-alive", "HTTP_KEEP_ALIVE", true},
    {"cookie", "HTTP_COOKIE", false},
    {"authorization", "HTTP_AUTHORIZATION", false},
    {"content-type", "CONTENT_TYPE", true},
    // Set from what was received: a chunked body was decoded, so it has a length now (RFC 9112 7.1.3).
    {"content-length", "", false},
    {"transfer-encoding", "", false},
    // CGI programs take HTTP_PROXY for the proxy of their own requests ("httpoxy").
    {"proxy", "", false},
    {"cache-control", "HTTP_CACHE_CONTROL", true},
    {"pragma", "HTTP_PRAGMA", true},
    {"referer", "HTTP_REFERER", false},
    {"origin", "HTTP_ORIGIN", true},
    {"range", "HTTP_RANGE", false},
    {"if-range", "HTTP_IF_RANGE", false},
    {"if-match", "HTTP_IF_MATCH", false},
    {"if-none-match", "HTTP_IF_NONE_MATCH", false},
    {"if-modified-since", "HTTP_IF_MODIFIED_SINCE", false},
    {"if-unmodified-since", "HTTP_IF_UNMODIFIED_SINCE", false},
    {"upgrade", "HTTP_UPGRADE", true},
    {"upgrade-insecure-requests", "HTTP_UPGRADE_INSECURE_REQUESTS", true},
    {"expect", "HTTP_EXPECT", true},
    {"te", "HTTP_TE", true},
    {"dnt", "HTTP_DNT", true},
    {"priority", "HTTP_PRIORITY", true},
    {"sec-fetch-site", "HTTP_SEC_FETCH_SITE", true},
    {"sec-fetch-mode", "HTTP_SEC_FETCH_MODE", true},
    {"sec-fetch-user", "HTTP_SEC_FETCH_USER", true},
    {"sec-fetch-dest", "HTTP_SEC_FETCH_DEST", true},
    {"sec-ch-ua", "HTTP_SEC_CH_UA", true},
    {"sec-ch-ua-mobile", "HTTP_SEC_CH_UA_MOBILE", true},
    {"sec-ch-ua-platform", "HTTP_SEC_CH_UA_PLATFORM", true},
    {"via", "HTTP_VIA", true},
    {"forwarded", "HTTP_FORWARDED", false},
    {"x-forwarded-for", "HTTP_X_FORWARDED_FOR", false},
    {"x-forwarded-proto", "HTTP_X_FORWARDED_PROTO", true},
    {"x-forwarded-host", "HTTP_X_FORWARDED_HOST", true},
    {"x-forwarded-port", "HTTP_X_FORWARDED_PORT", true},
    {"x-real-ip", "HTTP_X_REAL_IP", false},
    {"x-request-id", "HTTP_X_REQUEST_ID", false},
    {"x-requested-with", "HTTP_X_REQUESTED_WITH", true},
    {"x-csrftoken", "HTTP_X_CSRFTOKEN", false},
    {"traceparent", "HTTP_TRACEPARENT", false},
    {"last-event-id", "HTTP_LAST_EVENT_ID", false},
});
// clang-format on
static_assert(kKnownFields.size() <= 64);  // a request's known fields are remembered in one word

inline constexpr int kUnknownField = -1;

/// The index of a known field, whatever its case, or kUnknownField. `name` is a token.
[[nodiscard]] int known_field(std::string_view name) noexcept;

}  // namespace m0::python
