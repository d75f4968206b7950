# Warnings for berth's own programs, and what makes their build faster. Never part of
# berth::berth: an embedding project keeps its own.
add_library(berth_warnings INTERFACE)
target_compile_options(berth_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
  $<$<BOOL:${BERTH_WERROR}>:-Werror>
  # Once it optimises, g++ sees overlaps in std::string concatenation that are not there (GCC bug 105651, up to 12), and
  # reads of the empty half of a std::optional (GCC bug 80635, open). clang++ and the sanitizers look in their place. What
  # the sanitizers insert makes it see such reads inside Boost too, hence -Wno-uninitialized in their presets.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # g++ collects garbage from 128 MiB on, over and over in units that need 1.3 GiB: a sixth of the build, for 160 MiB less.
  "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-heapsize=2097152>")
