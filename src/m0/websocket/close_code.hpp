#pragma once
// The status codes of a close frame (RFC 6455 7.4 and the registry that 11.7 founded).

#include <cstdint>

namespace m0::websocket {

namespace close_code {

inline constexpr std::uint16_t kNormal = 1000;
inline constexpr std::uint16_t kGoingAway = 1001;
inline constexpr std::uint16_t kProtocolError = 1002;
inline constexpr std::uint16_t kUnsupportedData = 1003;
inline constexpr std::uint16_t kNoStatus = 1005;  // never on the wire: says of a close frame that it held no code
inline constexpr std::uint16_t kAbnormal = 1006;  // never on the wire: says that there was no close frame
inline constexpr std::uint16_t kInvalidData = 1007;
inline constexpr std::uint16_t kPolicyViolation = 1008;
inline constexpr std::uint16_t kMessageTooBig = 1009;
inline constexpr std::uint16_t kMandatoryExtension = 1010;
inline constexpr std::uint16_t kInternalError = 1011;
inline constexpr std::uint16_t kServiceRestart = 1012;
inline constexpr std::uint16_t kTryAgainLater = 1013;
inline constexpr std::uint16_t kBadGateway = 1014;

}  // namespace close_code

/// What may stand in a close frame of a client: what RFC 6455 7.4.1 defines for the wire, what was registered since
/// (1012 to 1014), and what libraries (3000) and applications (4000) may choose (7.4.2).
[[nodiscard]] constexpr bool client_may_send_code(unsigned code) noexcept {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

/// The same for us. 1010 is a client's complaint about us: "not used by the server" (RFC 6455 7.4.1).
[[nodiscard]] constexpr bool server_may_send_code(unsigned code) noexcept {
  return client_may_send_code(code) && code != close_code::kMandatoryExtension;
}

}  // namespace m0::websocket
