// HiveD, Flux graphs, Ray and YARN.

#include "berth/io/other/flux_jgf.hpp"
#include "berth/io/other/hived.hpp"
#include "berth/io/other/ray_status.hpp"
#include "berth/io/other/yarn.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::family read{data, size, 8};
  read(berth::looks_like_hived(read.file.text), berth::read_hived);
  read(berth::looks_like_flux_jgf(read.file.text), berth::read_flux_jgf);
  read(berth::looks_like_ray_status(read.file.text), berth::read_ray_status);
  read(berth::looks_like_yarn(read.file.text), berth::read_yarn);
  return 0;
}
