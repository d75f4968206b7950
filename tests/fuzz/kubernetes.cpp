// Objects of Kubernetes that speak of machines and topologies.

#include "berth/io/kubernetes/read.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > fuzz::most_bytes) return 0;
  const auto file = fuzz::text_of(data, size);
  fuzz::run([](const auto& f, const auto& o) { return berth::read_kubernetes(f, o); }, file, fuzz::limits());
  return 0;
}
