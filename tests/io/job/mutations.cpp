// Broken job files: each must give jobs without a fault of their own, or an error that names its source; never a crash,
// a hang or a memory blow-up. The inputs are the same on every run.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/io/job/flux_jobspec.hpp"
#include "berth/io/job/kubernetes_jobs.hpp"
#include "berth/io/job/sbatch.hpp"
#include "berth/io/job/tony.hpp"
#include "describe.hpp"
#include "io/broken_text.hpp"

namespace {

const std::vector<std::string_view> pieces{"{",
                                           "}",
                                           "[",
                                           "]",
                                           ":",
                                           ",",
                                           "-",
                                           "\n",
                                           "\n- ",
                                           "  ",
                                           "\"",
                                           "'",
                                           "#",
                                           "&a ",
                                           "*a",
                                           "|\n",
                                           "---\n",
                                           "null",
                                           "true",
                                           "0",
                                           "-1",
                                           "1e999",
                                           "4294967296",
                                           "18446744073709551616",
                                           "9999999",
                                           "1Gi",
                                           "500m",
                                           "{{x}}",
                                           "\xFF",
                                           "\xC3",
                                           "\xEF\xBB\xBF",
                                           "replicas: 0",
                                           "parallelism: 9999999",
                                           "nvidia.com/gpu: 9999999999",
                                           "kind: JobSet",
                                           "kind: PodGroup",
                                           "spec:",
                                           "template:",
                                           "containers: 3",
                                           "#SBATCH ",
                                           "--nodes=",
                                           "--gres=gpu:",
                                           "-N",
                                           "hetjob",
                                           "%",
                                           "@",
                                           "count: {min: 1}",
                                           "type: node",
                                           "with:",
                                           "<value>",
                                           "</property>",
                                           "&lt;",
                                           "<!--",
                                           "tony.a.instances"};

template <class Reader>
void torture(const std::vector<std::string>& seeds, int rounds, std::uint64_t seed, Reader read) {
  berth::random_source rng{seed};
  int values = 0, errors = 0;
  for (const auto& text : seeds)
    for (int i = 0; i < rounds; ++i) {
      const std::string& other = seeds[static_cast<std::size_t>(rng.below(seeds.size()))];
      const std::string bad = broken::mutated(text, pieces, rng, other);
      const auto jobs = read(berth::named_text{"f", bad});
      if (!jobs) {
        ++errors;
        const auto& e = jobs.error();
        if (e.source != "f" || e.found.empty() || e.expected.empty() || e.line > bad.size() + 1)
          FAIL_CHECK((e.message() + "\n" + bad));
        continue;
      }
      ++values;
      if (jobs->empty()) FAIL_CHECK(bad);
      for (const auto& j : *jobs)
        if (const auto f = berth::fault_of(j)) FAIL_CHECK((f->first + "\n" + bad));
    }
  CHECK(values > 0);
  CHECK(errors > 0);
}

TEST_SUITE("io/job/mutations") {
  TEST_CASE("Kubernetes") {
    std::vector<std::string> seeds;
    for (const char* name : {"dra-gpu-test4-mig.yaml",    "hived-itc-gang.yaml",
                             "hived-requests-basic.yaml", "jobset-depends-on.yaml",
                             "jobset-exclusive.yaml",     "kai-external-podgroup.yaml",
                             "kai-topology-aliases.yaml", "kueue-jobset-tas-combined.yaml",
                             "kueue-lws-tas.yaml",        "kueue-pytorchjob.yaml",
                             "lws-vllm-gpu.yaml",         "pod-gpu-00.yaml",
                             "pod-mig-1g5gb.yaml",        "raycluster-kai-gpu-sharing.yaml",
                             "raycluster-tpu-256.yaml",   "rayjob-placement-group.yaml",
                             "trainjob-volcano.yaml",     "volcano-job-nettopo.yaml",
                             "volcano-mpi.yaml",          "extender-args.json"})
      seeds.push_back(jobs_test::sample(name).text);
    torture(seeds, 100, 1, [](const berth::named_text& f) { return berth::read_kubernetes_jobs(f); });
  }
  TEST_CASE("sbatch") {
    torture({"#!/bin/bash\n#SBATCH -N 2-4 --ntasks-per-node=8 --gres=gpu:h100:8,mps:50\n#SBATCH --mem=64G -t "
             "1-2:3:4\nsrun x\n",
             "#SBATCH --array=0-15%4 -C 'a&(b|c)' -d afterok:1 --segment=2 -N 8\n#SBATCH hetjob\n#SBATCH -n 8 --gpus=8 "
             "--switches=1@5\n"},
            1000, 2, [](const berth::named_text& f) { return berth::read_sbatch(f); });
  }
  TEST_CASE("Flux") {
    torture({"version: 1\nresources:\n- type: rack\n  count: 2\n  with:\n  - type: node\n    count: {min: 2, max: 4}\n "
             "   with:\n"
             "    - type: slot\n      count: 2\n      label: a\n      with:\n      - {type: gpu, count: 1}\n      - "
             "{type: memory, count: 4, unit: GiB}\ntasks: []\n"
             "attributes: {system: {duration: 60, constraints: {and: [{properties: [a]}, {hostlist: ['n[1-4]']}]}}}\n"},
            1000, 3, [](const berth::named_text& f) { return berth::read_flux_jobspec(f); });
  }
  TEST_CASE("TonY") {
    torture({jobs_test::sample("tony-job.xml").text}, 1000, 4,
            [](const berth::named_text& f) { return berth::read_tony(f); });
  }
  TEST_CASE("deep, long and repeated input") {
    const auto fails = [](const auto& jobs) { return !jobs.has_value(); };
    CHECK(fails(berth::read_kubernetes_jobs({"f", "kind: Job\nspec: " + std::string(100'000, '[')})));
    CHECK(fails(berth::read_flux_jobspec({"f", "resources: " + std::string(100'000, '{')})));
    CHECK(fails(berth::read_sbatch({"f", "#SBATCH " + std::string(100'000, 'x')})));
    CHECK(fails(berth::read_sbatch({"f", "#SBATCH -w n[0-99999999]"})));
    std::string hetjobs, xml = "<configuration>";
    for (int i = 0; i < 2000; ++i) hetjobs += "#SBATCH hetjob\n", xml += "<a>";
    CHECK(fails(berth::read_sbatch({"f", hetjobs})));
    CHECK(fails(berth::read_tony({"f", xml})));
    std::string wrapped = "{kind: Pod, spec: {containers: []}}";
    for (int i = 0; i < 20; ++i) wrapped = "{kind: AppWrapper, spec: {components: [{template: " + wrapped + "}]}}";
    CHECK(fails(berth::read_kubernetes_jobs({"f", wrapped})));  // nested deeper than 64
  }
}

}  // namespace
