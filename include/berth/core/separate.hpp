#pragma once
/// \file
/// Where the bodies of functions are compiled.
///
/// Without further ado every file that includes a header compiles what is in it. A program of many files may define
/// `BERTH_SEPARATE` for all of them: they then see declarations, and one file compiles the bodies:
///
///     #define BERTH_COMPILE_BODIES
///     #include "berth/place.hpp"  // and what else of berth the program includes
///
/// Bodies lie in `impl/` beside the header that declares them. Left in the headers are short ones, those of templates of
/// policies, and what must be inlined; the rooms `profile/`, `io/` and `report/` are not divided. `placer<>` is compiled
/// with the bodies, other placers where they are used.

#if defined(BERTH_COMPILE_BODIES) && !defined(BERTH_SEPARATE)
#error "BERTH_COMPILE_BODIES is for programs that define BERTH_SEPARATE for all of their files"
#endif

#if defined(BERTH_SEPARATE)
#define BERTH_INLINE
#if defined(BERTH_COMPILE_BODIES)
#define BERTH_WITH_BODIES 1
#define BERTH_EXTERN
#else
#define BERTH_WITH_BODIES 0
#define BERTH_EXTERN extern
#endif
#else
#define BERTH_INLINE inline
#define BERTH_WITH_BODIES 1
#endif
