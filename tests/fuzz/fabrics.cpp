// InfiniBand and what is like it.

#include "berth/io/fabric/adapter_lists.hpp"
#include "berth/io/fabric/iblinkinfo.hpp"
#include "berth/io/fabric/ibnetdiscover.hpp"
#include "berth/io/fabric/ibsim_net.hpp"
#include "berth/io/fabric/ibswinfo.hpp"
#include "berth/io/fabric/opensm_subnet.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > fuzz::most_bytes) return 0;
  const auto file = fuzz::text_of(data, size);
  const auto options = fuzz::limits();
  const auto read = [&](bool looks, auto reader) {
    if (looks || size % 8 == 0) fuzz::run(reader, file, options);
  };
  read(berth::looks_like_ibnetdiscover(file.text), berth::read_ibnetdiscover);
  read(berth::looks_like_iblinkinfo(file.text), berth::read_iblinkinfo);
  read(berth::looks_like_opensm_subnet(file.text), berth::read_opensm_subnet);
  read(berth::looks_like_ibsim_net(file.text), berth::read_ibsim_net);
  read(berth::looks_like_ibswinfo(file.text), berth::read_ibswinfo);
  read(berth::looks_like_adapter_list(file.text), berth::read_adapter_list);
  return 0;
}
