// HiveD, Flux graphs, Ray and YARN.

#include "berth/io/other/flux_jgf.hpp"
#include "berth/io/other/hived.hpp"
#include "berth/io/other/ray_status.hpp"
#include "berth/io/other/yarn.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > fuzz::most_bytes) return 0;
  const auto file = fuzz::text_of(data, size);
  const auto options = fuzz::limits();
  const auto read = [&](bool looks, auto reader) {
    if (looks || size % 8 == 0) fuzz::run(reader, file, options);
  };
  read(berth::looks_like_hived(file.text), berth::read_hived);
  read(berth::looks_like_flux_jgf(file.text), berth::read_flux_jgf);
  read(berth::looks_like_ray_status(file.text), berth::read_ray_status);
  read(berth::looks_like_yarn(file.text), berth::read_yarn);
  return 0;
}
