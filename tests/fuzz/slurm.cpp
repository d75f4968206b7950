// Slurm's files and commands, and topograph's models.

#include "berth/io/slurm.hpp"

#include "berth/io/topograph/model.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::family read{data, size, 8};
  const bool slurm = berth::looks_like_slurm(read.file.text);
  read(true, berth::read_slurm_text);
  read(berth::looks_like_topograph(read.file.text), berth::read_topograph);
  berth::slurm_options options;
  options.max_nodes = read.options.max_machines;
  options.load = read.options.load;
  if (slurm) static_cast<void>(fuzz::good(berth::read_slurm({read.file}, options)));
  return 0;
}
