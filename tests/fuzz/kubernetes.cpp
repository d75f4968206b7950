// Objects of Kubernetes that speak of machines and topologies.

#include "berth/io/kubernetes/read.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::family read{data, size, 1};
  read(true, [](const auto& f, const auto& o) { return berth::read_kubernetes(f, o); });
  return 0;
}
