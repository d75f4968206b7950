#include <doctest/doctest.h>

#include <string>

#include "berth/io/quota/dcgm_samples.hpp"
#include "berth/io/text_file.hpp"

using namespace berth;

namespace {

named_text sample(const std::string& name) {
  auto t = load_text_file(std::string{BERTH_SOURCE_DIR} + "/tests/quota/data/" + name);
  REQUIRE_MESSAGE(t, name);
  return {name, *t};
}

}  // namespace

TEST_CASE("DCGM's and nvidia-smi's samples are read") {
  const auto h100 = read_dcgm_text(sample("dcgm-h100-8gpu.prom"), 50);
  REQUIRE(h100);
  CHECK(h100->samples.size() == 8);
  CHECK(h100->samples[0].owner == "dynamo-workload/vllm-agg-0-vllmdecodeworker-s65j5");
  CHECK(h100->samples[1].owner.empty());
  CHECK(h100->samples[0].utilisation == 0.0);
  CHECK(h100->samples[0].time == 50);
  const auto fraction = read_dcgm_text(sample("dcgm-fraction.prom"), 0);
  REQUIRE(fraction);
  REQUIRE(fraction->samples.size() == 2);
  CHECK(fraction->samples[0].memory_used == std::int64_t{128} << 20);
  CHECK(fraction->samples[0].memory_total == std::int64_t{128 + 14831} << 20);
  CHECK(*fraction->samples[0].utilisation < 0.001);  // GR_ENGINE_ACTIVE before GPU_UTIL
  const auto mig = read_dcgm_text(sample("dcgm-mig-4-workloads.prom"), 0);
  REQUIRE(mig);
  for (const auto& s : mig->samples) CHECK(s.device.find('/') != std::string::npos);
  CHECK(mig->samples.size() == 4);
  const auto off = read_dcgm_text(sample("dcgm-mig-disabled.prom"), 0);
  REQUIRE(off);
  CHECK(off->samples.size() == 1);
  const auto csv = read_gpu_csv(sample("nvidia-smi-query-h100.csv"), 0);
  REQUIRE(csv);
  REQUIRE(csv->samples.size() == 1);
  CHECK(csv->samples[0].utilisation == 1.0);
  CHECK(csv->samples[0].memory_used == std::int64_t{19818} << 20);
  CHECK(csv->samples[0].memory_total == std::int64_t{81559} << 20);
  CHECK(csv->samples[0].time == doctest::Approx(1784016773.353));
  const auto unknown = read_gpu_csv(sample("nvidia-smi-query-h100-mig.csv"), 0);
  REQUIRE(unknown);
  CHECK_FALSE(unknown->samples[0].utilisation.has_value());

  const auto text_fault = [](const std::string& s) {
    const auto r = read_dcgm_text({"m", s}, 0);
    return r ? std::string{"read"} : r.error().message();
  };
  CHECK(text_fault("title\nDCGM_FI_DEV_GPU_UTIL{UUID=\"a\"} 5 1700000000000\n") == "read");
  CHECK(text_fault("DCGM_FI_DEV_GPU_UTIL{UUID=\"a\"} 101\n") ==
        "m:1: found DCGM_FI_DEV_GPU_UTIL of 101, expected a value in the metric's range");
  CHECK(text_fault("DCGM_FI_DEV_GPU_UTIL{UUID=\"a\"} -1\n").find("m:1") == 0);
  CHECK(text_fault("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 1\n").find("without a UUID") != std::string::npos);
  CHECK(text_fault("DCGM_FI_DEV_GPU_UTIL{UUID=\"a} 1\n").find("expected metric{label=\"value\"} number") !=
        std::string::npos);
  CHECK(text_fault("DCGM_FI_DEV_GPU_UTIL{UUID=\"a\"} x\n").find("value 'x'") != std::string::npos);
  CHECK(text_fault("DCGM_FI_DEV_GPU_UTIL{UUID=\"a\"} NaN\n") == "read");
  CHECK(text_fault("DCGM_FI_DEV_GPU_UTIL{UUID=\"a\"} 1 NaN\n") == "m:1: found timestamp 'NaN', expected milliseconds");
  const auto csv_fault = [](const std::string& s) {
    const auto r = read_gpu_csv({"c", s}, 0);
    return r ? std::string{"read"} : r.error().message();
  };
  CHECK(csv_fault("uuid, DCGM_FI_PROF_SM_ACTIVE, namespace, pod\nG, 0.5, ns, p\n") == "read");
  CHECK(csv_fault("uuid, utilization.gpu [%]\nG\n") == "c:2: found 1 columns, expected 2, as in the header");
  CHECK(csv_fault("uuid, utilization.gpu [%]\nG, 5 W\n").find("c:2: found utilization.gpu '5 W'") == 0);
  CHECK(csv_fault("timestamp, uuid\ninf, G\n").find("c:2: found timestamp 'inf'") == 0);
  CHECK(csv_fault("name\nx\n").find("without uuid") != std::string::npos);
  CHECK(csv_fault("").find("an empty file") != std::string::npos);
  CHECK(csv_fault("timestamp, uuid\n2026/13/01 00:00:00, G\n").find("timestamp '2026/13/01 00:00:00'") !=
        std::string::npos);
}
