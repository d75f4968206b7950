// The insides of machines: tables, XML, lists.

#include "berth/io/inside/dcgm.hpp"
#include "berth/io/inside/hwloc_xml.hpp"
#include "berth/io/inside/lspci.hpp"
#include "berth/io/inside/nccl_xml.hpp"
#include "berth/io/inside/nvidia_smi_csv.hpp"
#include "berth/io/inside/nvidia_smi_list.hpp"
#include "berth/io/inside/nvidia_smi_q_xml.hpp"
#include "berth/io/inside/rocm_topo.hpp"
#include "berth/io/inside/topo_m.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::family read{data, size, 16};
  if (size % 2 != 0) read.options.gpu_model = "guess";
  read(berth::looks_like_topo_m(read.file.text), berth::read_topo_m);
  read(berth::looks_like_nccl_xml(read.file.text), berth::read_nccl_xml);
  read(berth::looks_like_hwloc_xml(read.file.text), berth::read_hwloc_xml);
  read(berth::looks_like_nvidia_smi_q_xml(read.file.text), berth::read_nvidia_smi_q_xml);
  read(berth::looks_like_nvidia_smi_csv(read.file.text), berth::read_nvidia_smi_csv);
  read(berth::looks_like_nvidia_smi_list(read.file.text), berth::read_nvidia_smi_list);
  read(berth::looks_like_nvlink_status(read.file.text), berth::read_nvlink_status);
  read(berth::looks_like_dcgm(read.file.text), berth::read_dcgm);
  read(berth::looks_like_rocm_topo(read.file.text), berth::read_rocm_topo);
  read(berth::looks_like_lspci(read.file.text), berth::read_lspci);
  return 0;
}
