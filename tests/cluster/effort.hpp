#pragma once
// How much a test may do: all of it in an optimised build, a part of it where every step is slow.

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define BERTH_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BERTH_TEST_SANITIZED 1
#endif

/// `full` steps where the build is optimised, a twentieth where it is not or is sanitised.
constexpr std::size_t effort(std::size_t full) {
#if defined(__OPTIMIZE__) && !defined(BERTH_TEST_SANITIZED)
  return full;
#else
  return full / 20;
#endif
}
