// InfiniBand and what is like it.

#include "berth/io/fabric/adapter_lists.hpp"
#include "berth/io/fabric/iblinkinfo.hpp"
#include "berth/io/fabric/ibnetdiscover.hpp"
#include "berth/io/fabric/ibsim_net.hpp"
#include "berth/io/fabric/ibswinfo.hpp"
#include "berth/io/fabric/opensm_subnet.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::family read{data, size, 8};
  read(berth::looks_like_ibnetdiscover(read.file.text), berth::read_ibnetdiscover);
  read(berth::looks_like_iblinkinfo(read.file.text), berth::read_iblinkinfo);
  read(berth::looks_like_opensm_subnet(read.file.text), berth::read_opensm_subnet);
  read(berth::looks_like_ibsim_net(read.file.text), berth::read_ibsim_net);
  read(berth::looks_like_ibswinfo(read.file.text), berth::read_ibswinfo);
  read(berth::looks_like_adapter_list(read.file.text), berth::read_adapter_list);
  return 0;
}
