#pragma once

/// WARPLOOM_THREAD_SANITIZER and WARPLOOM_ADDRESS_SANITIZER: 1 where the code at hand is compiled with it,
/// else 0. GCC says so by macros, Clang by __has_feature.

#if defined(__has_feature)
#define WARPLOOM_HAS_FEATURE(x) __has_feature(x)
#else
#define WARPLOOM_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_THREAD__) || WARPLOOM_HAS_FEATURE(thread_sanitizer)
#define WARPLOOM_THREAD_SANITIZER 1
#else
#define WARPLOOM_THREAD_SANITIZER 0
#endif

#if defined(__SANITIZE_ADDRESS__) || WARPLOOM_HAS_FEATURE(address_sanitizer)
#define WARPLOOM_ADDRESS_SANITIZER 1
#else
#define WARPLOOM_ADDRESS_SANITIZER 0
#endif

#undef WARPLOOM_HAS_FEATURE
