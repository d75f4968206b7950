// Jobs of Kubernetes, Slurm, Flux, TonY and our own.

#include "berth/io/job/flux_jobspec.hpp"
#include "berth/io/job/kubernetes_jobs.hpp"
#include "berth/io/job/sbatch.hpp"
#include "berth/io/job/tony.hpp"
#include "berth/io/job_json.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::family read{data, size, 8};
  const bool sbatch = berth::looks_like_sbatch(read.file.text), flux = berth::looks_like_flux_jobspec(read.file.text);
  const bool tony = berth::looks_like_tony(read.file.text);
  read.jobs(sbatch, berth::read_sbatch);
  read.jobs(flux, berth::read_flux_jobspec);
  read.jobs(tony, berth::read_tony);
  read.jobs(!sbatch && !flux && !tony, berth::read_kubernetes_jobs);
  static_cast<void>(fuzz::good(berth::read_job_json(read.file)));
  return 0;
}
