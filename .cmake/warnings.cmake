# Warnings for berth's own programs. Never part of berth::berth: an embedding project keeps its own.
add_library(berth_warnings INTERFACE)
target_compile_options(berth_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
  $<$<BOOL:${BERTH_WERROR}>:-Werror>
  # g++ 12 sees overlaps in std::string concatenation that are not there once it optimises (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
