#include "m0/http/scan.hpp"

#ifdef __SSE2__
#include <emmintrin.h>

#include <bit>
#endif

namespace m0::http {

const char* scan_token(const char* at, const char* end) noexcept {
  while (at != end && is_token_char(*at)) ++at;
  return at;
}

const char* scan_value_scalar(const char* at, const char* end) noexcept {
  while (at != end && is_value_char(*at)) ++at;
  return at;
}

const char* scan_target_scalar(const char* at, const char* end) noexcept {
  while (at != end && is_target_char(*at)) ++at;
  return at;
}

#ifdef __SSE2__
namespace {

__m128i load(const char* at) noexcept { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }

// SSE2 compares bytes as signed only: "at most" is an unsigned minimum that changes nothing.
__m128i at_most(__m128i bytes, char limit) noexcept {
  return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(limit)), bytes);
}

__m128i equal(__m128i bytes, char c) noexcept { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); }

template <class Refused>
const char* scan_wide(const char*& at, const char* end, Refused refused) noexcept {
  while (end - at >= 16) {
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(refused(load(at))));
    if (mask != 0) return at + std::countr_zero(mask);
    at += 16;
  }
  return nullptr;
}

}  // namespace

const char* scan_value(const char* at, const char* end) noexcept {
  const char* found = scan_wide(at, end, [](__m128i bytes) noexcept {
    return _mm_or_si128(_mm_andnot_si128(equal(bytes, '\t'), at_most(bytes, 0x1f)), equal(bytes, 0x7f));
  });
  return found != nullptr ? found : scan_value_scalar(at, end);
}

const char* scan_target(const char* at, const char* end) noexcept {
  const char* found = scan_wide(at, end, [](__m128i bytes) noexcept {
    return _mm_or_si128(_mm_or_si128(at_most(bytes, 0x20), equal(bytes, 0x7f)), equal(bytes, '#'));
  });
  return found != nullptr ? found : scan_target_scalar(at, end);
}
#else
const char* scan_value(const char* at, const char* end) noexcept { return scan_value_scalar(at, end); }
const char* scan_target(const char* at, const char* end) noexcept { return scan_target_scalar(at, end); }
#endif

}  // namespace m0::http
