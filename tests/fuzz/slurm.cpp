// Slurm's files and commands, and topograph's models.

#include "berth/io/slurm/report.hpp"
#include "berth/io/topograph/model.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > fuzz::most_bytes) return 0;
  const auto file = fuzz::text_of(data, size);
  const auto options = fuzz::limits();
  fuzz::run(berth::read_slurm_text, file, options);
  if (berth::looks_like_topograph(file.text) || size % 8 == 0) fuzz::run(berth::read_topograph, file, options);
  berth::slurm_options slurm;
  slurm.max_nodes = options.max_machines;
  slurm.load = options.load;
  if (berth::looks_like_slurm(file.text)) static_cast<void>(fuzz::good(berth::read_slurm({file}, slurm)));
  return 0;
}
