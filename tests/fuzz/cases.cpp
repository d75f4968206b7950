// Scheduling questions of other schedulers' tests: the reader, and the answers.

#include "berth/io/case/run.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > fuzz::most_bytes) return 0;
  const auto text = fuzz::text_of(data, size);
  berth::case_file file;
  if (const auto ok = berth::read_cases(text.text, text.name, file); !ok) {
    if (ok.error().found.empty()) __builtin_trap();
    return 0;
  }
  const auto out = berth::run_cases(file, {});
  (void)berth::case_text({out});
  (void)berth::case_json({out});
  return 0;
}
