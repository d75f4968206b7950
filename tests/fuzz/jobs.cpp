// Jobs of Kubernetes, Slurm, Flux, TonY and our own.

#include "berth/io/job/flux_jobspec.hpp"
#include "berth/io/job/kubernetes_jobs.hpp"
#include "berth/io/job/sbatch.hpp"
#include "berth/io/job/tony.hpp"
#include "berth/io/job_json.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > fuzz::most_bytes) return 0;
  const auto file = fuzz::text_of(data, size);
  const auto options = fuzz::limits();
  const auto read = [&](bool looks, auto reader) {
    if (looks || size % 8 == 0) fuzz::run_jobs(reader, file, options);
  };
  const bool sbatch = berth::looks_like_sbatch(file.text), flux = berth::looks_like_flux_jobspec(file.text);
  const bool tony = berth::looks_like_tony(file.text);
  read(sbatch, berth::read_sbatch);
  read(flux, berth::read_flux_jobspec);
  read(tony, berth::read_tony);
  read(!sbatch && !flux && !tony, berth::read_kubernetes_jobs);
  static_cast<void>(fuzz::good(berth::read_job_json(file)));
  return 0;
}
