// Lists of GPUs: nvidia-smi -L, nvlink --status, -q -x, --query-gpu, and the DCGM exporter.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/io/inside/dcgm.hpp"
#include "berth/io/inside/nvidia_smi_csv.hpp"
#include "berth/io/inside/nvidia_smi_list.hpp"
#include "berth/io/inside/nvidia_smi_q_xml.hpp"
#include "io/inside/support.hpp"

using namespace berth;
using namespace inside_test;

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& w : words) out += w + " ";
  return out;
}
template <class T>
const T& value(const expected<T, input_error>& e) {
  REQUIRE_MESSAGE(e.has_value(), failure(e));
  return *e;
}

}  // namespace

TEST_CASE("nvidia-smi -L: GPUs with models, MIG devices as labels, masked UUIDs left open") {
  const auto text = sample("dcgm/nvidia-smi-L-h100-mig.txt");
  CHECK(looks_like_nvidia_smi_list(text.text));
  const auto r = value(read_nvidia_smi_list(text));
  const auto& m = r.machines.at(0);
  CHECK(m.gpus == 1U);
  CHECK(m.gpu_model == "h100-sxm5-80gb");
  CHECK(joined(m.labels) == "gpu0.mig=3g.40gb,2g.20gb,1g.10gb,1g.10gb ");
  CHECK(inside(r)[0].uuid.empty());
  CHECK(mentions(r.assumptions, "joined is not in this list"));
  CHECK(value(read_nvidia_smi_list(sample("dcgm/nvidia-smi-L-h100.txt"))).machines[0].labels.empty());
  const auto two = value(read_nvidia_smi_list(
      {"f",
       "$ nvidia-smi -L\r\nGPU 1: Tesla V100-SXM2-16GB (UUID: GPU-0000001a-0000-0000-0000-000000000001)\r\nGPU 0: "
       "Tesla V100-SXM2-16GB (UUID: GPU-0000002b-0000-0000-0000-000000000001)\r\n"
       "  MIG 1g.5gb Device 0: (UUID: MIG-GPU-0000002b-0000-0000-0000-000000000001/7/0)\r\n"}));
  CHECK(inside(two)[0].uuid == "GPU-0000002b-0000-0000-0000-000000000001");
  CHECK(inside(two)[1].uuid == "GPU-0000001a-0000-0000-0000-000000000001");
  CHECK(joined(two.machines[0].labels) == "gpu0.mig=1g.5gb ");
}

TEST_CASE("nvidia-smi -L: what is wrong is told with its line") {
  const auto message = [](const std::string& text) { return failure(read_nvidia_smi_list({"f", text})); };
  CHECK(message("hello") == "f:1: found no line \"GPU 0: …\", expected the list that nvidia-smi prints");
  CHECK(message("GPU 0: A (UUID: GPU-00000001-0000-0000-0000-000000000001)\nGPU 0: A (UUID: "
                "GPU-00000002-0000-0000-0000-000000000001)") ==
        "f:2: found the GPU of line 1 again, expected every GPU once");
  CHECK(
      message("GPU 0: A (UUID: GPU-00000001-0000-0000-0000-000000000001)\nUnable to determine the device handle for "
              "gpu 0000:4F:00.0") ==
      "f:2: found 'Unable to determine the device handle for gpu 0000:4F:00.0', expected \"GPU 0: … (UUID: GPU-…)\" or "
      "\"MIG 1g.10gb Device 0: (UUID: MIG-…)\"");
  const std::string good =
      "$ nvidia-smi -L\nGPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5269b708-678a-b1a8-60f0-c90406537486)\n"
      "  MIG 1c.3g.40gb  Device  0: (UUID: MIG-5269b708-678a-b1a8-60f0-c90406537487)\n"
      "  MIG 1g.10gb+me  Device  1: (UUID: MIG-5269b708-678a-b1a8-60f0-c90406537488)\n"
      "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-xxxxxxxx-xxxx-xxxx-xxxx-c90406537489)\n";
  CHECK(message(good).empty());
  struct change {
    const char *old, *now;
    unsigned line;
  };
  for (const auto& c :
       {change{"GPU 0:", "GPU 0", 2}, change{"GPU 0:", "GPU0:", 2}, change{"GPU 0:", "GPU O:", 2},
        change{"GPU 0:", "GUP 0:", 2}, change{"GPU-5269", "GPU-526", 2}, change{"GPU-5269b", "GPU-5269g", 2},
        change{"(UUID: GPU-5", "(UUD: GPU-5", 2}, change{"GPU-5", "MIG-5", 2}, change{"7486)", "7486", 2},
        change{"NVIDIA H100 80GB HBM3 (UUID: GPU-5", "(UUID: GPU-5", 2}, change{"MIG 1c.3g.40gb", "MIG 3g40gb", 3},
        change{"MIG 1c", "MGI 1c", 3}, change{"Device  0:", "Device  0", 3}, change{"Device  0:", "Device", 3},
        change{"MIG-5269b", "MIG-5269", 3}, change{"1g.10gb+me", "1g.10g", 4}, change{"GPU 1:", "GPU 1", 5},
        change{"GPU 1:", "1:", 5}}) {
    std::string text = good;
    REQUIRE(text.find(c.old) != std::string::npos);
    text.replace(text.find(c.old), std::string_view{c.old}.size(), c.now);
    const std::string told = message(text);
    CHECK_MESSAGE(told.starts_with("f:" + std::to_string(c.line) + ": found '"), c.now << ": " << told);
  }
  CHECK(looks_like_nvidia_smi_list("GPU 0 NVIDIA H100 (UUID: GPU-5269b708-678a-b1a8-60f0-c90406537486)\n"));
}

TEST_CASE("nvidia-smi nvlink --status: active links as labels, where they lead stays open") {
  const auto text = sample("dcgm/nvlink-status-a100.txt");
  CHECK(looks_like_nvlink_status(text.text));
  CHECK_FALSE(looks_like_nvidia_smi_list(text.text));
  CHECK_FALSE(looks_like_nvlink_status(sample("dcgm/nvidia-smi-L-h100.txt").text));
  const auto r = value(read_nvlink_status(text));
  const auto& m = r.machines.at(0);
  CHECK(m.gpus == 8U);
  CHECK(m.gpu_model == "a100-sxm4-80gb");
  REQUIRE(m.labels.size() == 8);
  CHECK(m.labels[7] == "gpu7.nvlinks=12x25GB/s");
  CHECK(inside(r)[2].uuid == "GPU-483e6bb6-bb11-8916-e22f-d1d69abbafaa");
  const auto lost =
      value(read_nvlink_status({"f",
                                "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000001-0000-0000-0000-000000000001)\n\t "
                                "Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"}));
  CHECK(joined(lost.machines[0].labels) == "gpu0.nvlinks=1x26.562GB/s ");
  CHECK(mentions(lost.assumptions, "1 NVLink of GPU 0 inactive"));
}

TEST_CASE("nvidia-smi -q -x: models, UUIDs, bus ids, memory, driver; broken GPUs; NVLink cliques") {
  const auto text = sample("dcgm/nvidia-smi-q-x.xml");
  CHECK(looks_like_nvidia_smi_q_xml(text.text));
  const auto r = value(read_nvidia_smi_q_xml(text));
  const auto& m = r.machines.at(0);
  CHECK(m.gpus == 2U);
  CHECK(m.gpu_model == "Tesla P100-PCIE-12GB");
  CHECK(joined(m.labels) == "gpu.memory=12193MiB driver=375.66 ");
  CHECK(inside(r)[0].bus_id == "0000:04:00.0");
  CHECK(inside(r)[1].bus_id == "0000:82:00.0");
  CHECK(inside(r)[0].uuid == "GPU-28604e81-21ec-cc48-6759-bf2648b22e16");
  CHECK(m.place.line == 21);

  const auto gb =
      value(read_nvidia_smi_q_xml({"f",
                                   "<nvidia_smi_log><attached_gpus>3</attached_gpus>\n<gpu "
                                   "id=\"00000008:01:00.0\"><product_name>NVIDIA GB200</product_name>"
                                   "<mig_mode><current_mig>Enabled</current_mig></mig_mode><fabric><cliqueId>32766</"
                                   "cliqueId><clusterUuid>c1-2</clusterUuid>"
                                   "</fabric></gpu>\n<gpu id=\"00000009:01:00.0\"><product_name>GPU is "
                                   "lost</product_name><fabric><cliqueId>32766</cliqueId>"
                                   "<clusterUuid>c1-2</clusterUuid></fabric></gpu></nvidia_smi_log>"}));
  CHECK(gb.machines[0].unhealthy == 2U);
  CHECK(inside(gb)[0].model == "gb200-186gb");
  CHECK(inside(gb)[0].bus_id == "0008:01:00.0");
  CHECK(joined(gb.machines[0].labels) == "gpu0.mig=enabled nvidia.com/gpu.clique=c1-2.32766 ");
  CHECK(mentions(gb.assumptions, "2 GPUs of 3 attached"));
  CHECK(failure(read_nvidia_smi_q_xml({"f", "<a/>"})) ==
        "f:1: found <a>, expected <nvidia_smi_log> of nvidia-smi -q -x");
  CHECK(failure(read_nvidia_smi_q_xml({"f", "<nvidia_smi_log>\n<gpu id=\"x\"/></nvidia_smi_log>"})) ==
        "f:2: found bus id 'x', expected a PCI bus id such as 0000:1b:00.0");
}

TEST_CASE("nvidia-smi --query-gpu: columns by name, units in header or value, samples that repeat") {
  for (const bool mig : {false, true}) {
    const auto text = sample(mig ? "dcgm/nvidia-smi-query-h100-mig.csv" : "dcgm/nvidia-smi-query-h100.csv");
    CHECK(looks_like_nvidia_smi_csv(text.text));
    const auto r = value(read_nvidia_smi_csv(text));
    const auto& m = r.machines.at(0);
    CHECK(m.gpus == 1U);
    CHECK(m.gpu_model == "h100-sxm5-80gb");
    CHECK(m.name.empty());
    CHECK(joined(m.labels) == (mig ? "gpu.memory=81559MiB gpu0.mig=enabled " : "gpu.memory=81559MiB "));
    CHECK(inside(r)[0].bus_id == "0000:00:09.0");
  }
  const std::string header = "index, name, uuid, memory.total [MiB], hostname\n";
  const auto r = value(
      read_nvidia_smi_csv({"f", header + "0, NVIDIA B200, GPU-a, 183359, n1\n1, NVIDIA B200, GPU-b, 183359 MiB, n1\n" +
                                    header + "0, NVIDIA B200, GPU-a, 183359, n1\n0, NVIDIA L4, GPU-c, 23034, n2\n"}));
  REQUIRE(r.machines.size() == 2);
  CHECK(r.machines[0].name == "n1");
  CHECK(r.machines[0].gpus == 2U);
  CHECK(r.machines[1].gpu_model == "l4");
  const auto message = [](const std::string& text) { return failure(read_nvidia_smi_csv({"f", text})); };
  CHECK(message(header + "0, NVIDIA B200\n") == "f:2: found 2 cells, expected 5, as the header has");
  CHECK(message(header + "zero, NVIDIA B200, GPU-a, 1, n\n") == "f:2: found index 'zero', expected a number");
  CHECK(message(header) == "f:1: found a header without GPUs, expected a line for each GPU");
  CHECK(message("a, b\n1, 2\n").find("found no header with index") != std::string::npos);
}

TEST_CASE("DCGM: machines, GPUs, MIG profiles and who holds whole GPUs") {
  const auto text = sample("dcgm/dcgm-h100-8gpu.prom");
  CHECK(looks_like_dcgm(text.text));
  const auto r = value(read_dcgm(text));
  REQUIRE(r.machines.size() == 1);
  CHECK(r.machines[0].name == "gpu-node-1");
  CHECK(r.machines[0].gpus == 8U);
  CHECK(r.machines[0].gpu_model == "h100-sxm5-80gb");
  std::string buses;
  for (part_id v = 0; v < 8; ++v) buses += inside(r)[v].bus_id.substr(5, 2) + " ";
  CHECK(buses == "53 64 75 86 97 a8 b9 ca ");
  REQUIRE(r.held.size() == 1);
  CHECK(r.held[0].job == "dynamo-workload/vllm-agg-0-vllmdecodeworker-s65j5");
  CHECK(r.held[0].devices == 1U);

  const auto mig = value(read_dcgm(sample("dcgm/dcgm-mig-4-workloads.prom")));
  CHECK(mig.machines[0].gpus == 1U);
  CHECK(mig.machines[0].gpu_model == "a100-sxm4-40gb");
  CHECK(mentions(mig.machines[0].labels, "gpu0.mig=1g.5gb,"));
  CHECK(mig.held.empty());
  CHECK(mentions(mig.assumptions, "the exporter's own pod"));
  const auto off = value(read_dcgm(sample("dcgm/dcgm-mig-disabled.prom")));
  CHECK_FALSE(mentions(off.machines[0].labels, "mig"));
  const auto t4 = value(read_dcgm(sample("dcgm/dcgm-fraction.prom")));
  CHECK(t4.machines[0].gpus == 2U);
  CHECK(t4.machines[0].gpu_model == "t4");

  CHECK(failure(read_dcgm({"f", "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-1"})) ==
        "f:1: found 'DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-1', expected a metric DCGM_FI_…{gpu=\"0\",…} value");
  CHECK(failure(read_dcgm({"f", "DCGM_FI_A{gpu=\"0\",UUID=\"GPU-1\"} 1\nDCGM_FI_A{gpu=\"0\",UUID=\"GPU-2\"} 1\n"})) ==
        "f:2: found GPU 0 with another UUID or model than in line 1, expected the same GPU under one number");
}

TEST_CASE("lists of GPUs: damaged ones are refused with a place or read whole") {
  const auto run = [](const char* file, auto read, unsigned times) {
    survives_damage(sample(std::string{"dcgm/"} + file), read, times, 31);
  };
  run(
      "nvidia-smi-L-h100-mig.txt", [](const named_text& t) { return read_nvidia_smi_list(t); }, 400);
  run(
      "nvlink-status-a100.txt", [](const named_text& t) { return read_nvlink_status(t); }, 300);
  run(
      "nvidia-smi-q-x.xml", [](const named_text& t) { return read_nvidia_smi_q_xml(t); }, 150);
  run(
      "nvidia-smi-query-h100-mig.csv", [](const named_text& t) { return read_nvidia_smi_csv(t); }, 200);
  for (const char* file : {"dcgm-h100-8gpu.prom", "dcgm-mig-4-workloads.prom", "dcgm-fraction.prom"})
    run(
        file, [](const named_text& t) { return read_dcgm(t); }, 80);
}
