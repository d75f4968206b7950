// What running pods hold: amounts as kube-scheduler counts them, parts of GPUs, claims.

#include <doctest/doctest.h>

#include <string>
#include <tuple>

#include "berth/io/kubernetes/read.hpp"
#include "describe.hpp"
#include "read_text.hpp"

using berth::read_kubernetes;
using site_test::describe;
using site_test::good;
using site_test::read_text;

TEST_CASE("Parts of GPUs that running pods hold: by resource, and by annotation") {
  const auto pod = [](const std::string& resources, const std::string& notes) {
    const std::string text =
        read_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {" + notes +
                  "}}\nspec:\n  nodeName: a\n  containers: [{resources: {limits: {" + resources + "}}}]\n");
    const std::size_t from = text.find("gpus="), to = text.find(" by ");
    return text.starts_with("held ") ? text.substr(from + 5, to - from - 5) : text;
  };
  CHECK(pod("nvidia.com/mig-1g.10gb: 2, cpu: 1", "") == "0 cpus=1 *:1g.10gb *:1g.10gb");
  CHECK(pod("nvidia.com/mig-1g.10gb.shared: 1", "") == "0 *:1g.10gb/1/m1");
  CHECK(pod("nvidia.com/gpu.shared: 2", "") == "0 */1/m1 */1/m1");
  CHECK(pod("nvidia.com/gpu: 2, nvidia.com/gpumem: 3000, nvidia.com/gpucores: 30", "") ==
        "0 */300/3000MiB */300/3000MiB");
  CHECK(pod("nvidia.com/gpu: 1, nvidia.com/gpumem-percentage: 50", "") == "0 */m500");
  CHECK(pod("nvidia.com/gpu: 1, nvidia.com/gpucores: 30", "") == "0 */300/m1000");
  CHECK(pod("nvidia.com/gpu: 1, nvidia.com/gpucores: 100", "") == "1");
  CHECK(pod("cpu: 1", "gpu-memory: \"4000\"") == "0 cpus=1 */4000MiB");
  CHECK(pod("cpu: 1", "gpu-fraction: \"0.25\", gpu-fraction-num-devices: \"2\"") == "0 cpus=1 */250 */250");
  CHECK(pod("cpu: 1", "alibabacloud.com/gpu-milli: \"440\"") == "0 cpus=1 */440");
  for (const auto& [resources, notes, fault] :
       {std::tuple{"nvidia.com/gpucores: 101", "", "nvidia.com/gpucores"},
        std::tuple{"cpu: 1", "gpu-fraction: \"2\"", "gpu-fraction: '2'"},
        std::tuple{"cpu: 1", "gpu-memory: \"0\"", "gpu-memory: '0'"},
        std::tuple{"cpu: 1", "runai-mig-device: \"{\"", "runai-mig-device"},
        std::tuple{"nvidia.com/mig-1g.5gb: 9999", "", "nvidia.com/mig-1g.5gb"}}) {
    const std::string said = pod(resources, notes);
    CHECK_MESSAGE(said.find(fault) != std::string::npos, said);
  }
}

TEST_CASE("A running pod holds what kube-scheduler counts: sidecars, the largest start, overhead, amounts of the pod") {
  const auto held = [](const std::string& spec) {
    const auto r =
        read_kubernetes({"f", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: a, " + spec + "}\n"});
    if (!r) return r.error().message();
    const auto& h = r->held.at(0);
    std::string out = std::to_string(h.gpus);
    if (h.cpu.count() != 0) out += " cpus=" + berth::io_text::cpus_text(h.cpu);
    if (h.memory.count() != 0) out += " memory=" + std::to_string(h.memory.count() >> 20) + "MiB";
    return out + describe(h.parts);
  };
  const std::string main =
      "containers: [{resources: {limits: {nvidia.com/gpu: 2, cpu: 4}}}, {resources: {limits: {nvidia.com/gpu: 1, cpu: "
      "1}}}]";
  const auto init = [](const char* amounts, const char* policy = "") {
    return "{resources: {limits: {" + std::string{amounts} + "}}" + (*policy == 0 ? "" : ", restartPolicy: ") + policy +
           "}";
  };
  const std::string gpu = "nvidia.com/gpu: 1, cpu: 1";
  CHECK(held(main) == "3 cpus=5");
  // What stays is added; what starts before it does not see it, what starts after it does.
  CHECK(held(main + ", initContainers: [" + init(gpu.c_str(), "Always") + "]") == "4 cpus=6");
  CHECK(held(main + ", initContainers: [" + init("nvidia.com/gpu: 4, cpu: 2") + "]") == "4 cpus=5");
  CHECK(held(main + ", initContainers: [" + init("nvidia.com/gpu: 4") + ", " + init(gpu.c_str(), "Always") + "]") ==
        "4 cpus=6");
  CHECK(held(main + ", initContainers: [" + init(gpu.c_str(), "Always") + ", " + init("nvidia.com/gpu: 4") + "]") ==
        "5 cpus=6");
  CHECK(held(main + ", overhead: {cpu: 250m, memory: 120Mi}") == "3 cpus=5.25 memory=120MiB");
  CHECK(held(main + ", resources: {requests: {cpu: 8, memory: 1Gi}}, overhead: {cpu: 1}") == "3 cpus=9 memory=1024MiB");
  const std::string mig = "containers: [{resources: {limits: {nvidia.com/mig-1g.10gb: 1}}}]";
  CHECK(held(mig + ", initContainers: [" + init("nvidia.com/mig-1g.10gb: 2") + "]") == "0 *:1g.10gb *:1g.10gb");
  CHECK(held(mig + ", initContainers: [" + init("nvidia.com/mig-1g.10gb: 1", "Always") + ", " +
             init("nvidia.com/mig-3g.40gb: 1") + "]") == "0 *:1g.10gb *:1g.10gb *:3g.40gb");
  CHECK(held(mig + ", initContainers: [" + init("cpu: x", "Always") + "]").find("cpu: 'x'") != std::string::npos);
}

TEST_CASE("GPUs that pods claim are held, a claim once, by its pod where that is in the file") {
  const auto pod = [](const std::string& name, const std::string& status,
                      const std::string& claim = "resourceClaimTemplateName: two") {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           ", namespace: ml}\nspec: {nodeName: a, containers: "
           "[{resources: {claims: [{name: g}], requests: {cpu: 1}}}], resourceClaims: [{name: g, " +
           claim + "}]}\nstatus: {phase: Running" + status + "}\n";
  };
  const auto claim = [](const std::string& name, const std::string& devices, const std::string& users) {
    return "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: " + name +
           ", namespace: ml}\nspec: {}\nstatus: {allocation: "
           "{devices: {results: [" +
           devices +
           "]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: "
           "[b]}]}]}}, "
           "reservedFor: [" +
           users + "]}\n";
  };
  const std::string gpus =
      "{driver: gpu.nvidia.com, pool: a, device: gpu-0, request: r}, {driver: gpu.nvidia.com, pool: a, device: gpu-3, "
      "request: r}";
  const std::string own = ", resourceClaimStatuses: [{name: g, resourceClaimName: p-g}]";
  const auto held = [](const std::string& text) {
    std::string out;
    for (const auto& h : good(text).held)
      out += (out.empty() ? "" : "; ") + h.job + " " + h.machine + " " + std::to_string(h.gpus);
    return out;
  };
  CHECK(held(pod("p", own) + claim("p-g", gpus, "{resource: pods, name: p}")) == "ml/p a 2");
  CHECK(held(claim("p-g", gpus, "{resource: pods, name: p}") + pod("p", own)) == "ml/p a 2");
  // Two pods share it; it is held once.
  const std::string shared = claim("s", gpus, "{resource: pods, name: p}, {resource: pods, name: q}");
  CHECK(held(pod("p", "", "resourceClaimName: s") + pod("q", "", "resourceClaimName: s") + shared) ==
        "ml/p a 2; ml/q a 0");
  CHECK(held(claim("lone", gpus, "{resource: pods, name: gone}")) == "claim ml/lone b 2");
  // Without the claim nobody knows; other devices are said.
  CHECK(site_test::says(good(pod("p", own)), "ResourceClaims that are not in their file"));
  CHECK(site_test::says(good(pod("p", "")), "ResourceClaims that are not in their file"));
  CHECK_FALSE(site_test::says(good(pod("p", own) + claim("p-g", gpus, "{name: p}")), "ResourceClaims that are not"));
  const std::string others =
      "{driver: gpu.nvidia.com, pool: a, device: gpu-0-mig-9-4-4}, {driver: dra.net, pool: a, device: eth1}, "
      "{driver: gpu.nvidia.com, pool: a, device: gpu-1, adminAccess: true}";
  CHECK(held(pod("p", own) + claim("p-g", others, "{name: p}")) == "ml/p a 0");
  CHECK(site_test::says(good(pod("p", own) + claim("p-g", others, "{name: p}")),
                        "no whole GPUs are not kept: MIG instances of gpu.nvidia.com, dra.net."));
}
