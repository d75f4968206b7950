// Jobs of TonY and Flux. TonY's sample is in data/; the jobspecs are written after Flux's RFCs 14, 25, 26 and 31.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/io/job/flux_jobspec.hpp"
#include "berth/io/job/tony.hpp"
#include "describe.hpp"

namespace {

using jobs_test::row;

std::string tony(const std::string& properties) {
  std::string xml = "<configuration>\n";
  for (std::size_t at = 0; at < properties.size();) {
    const std::size_t equals = properties.find('=', at), end = properties.find('\n', at);
    xml += "<property><name>" + properties.substr(at, equals - at) + "</name><value>" +
           properties.substr(equals + 1, end - equals - 1) + "</value></property>\n";
    at = end + 1;
  }
  return jobs_test::describe_all(berth::read_tony({"t.xml", xml + "</configuration>\n"}));
}

TEST_SUITE("io/job/other_jobs") {
  TEST_CASE("TonY: the sample, defaults, labels, order of roles") {
    const auto sample = jobs_test::sample("tony-job.xml");
    CHECK(berth::looks_like_tony(sample.text));
    CHECK(jobs_test::describe_all(berth::read_tony(sample)) ==
          "mxnet - linearregression: scheduler 1 x cpus=1 memory=2GiB; server 2 x cpus=1 memory=2GiB; worker 2 x "
          "cpus=2 memory=4GiB");
    CHECK(tony("tony.yarn.queue=ml\ntony.application.timeout=90500\ntony.application.node-label=gpu\n"
               "tony.chief.instances=1\ntony.worker.instances=4\ntony.worker.gpus=2\ntony.worker.memory=8192\n"
               "tony.worker.node-label=a100\ntony.worker.depends-on=chief\ntony.worker.instances=8\n") ==
          "job queue=ml seconds=91: chief 1 x cpus=1 memory=2GiB label=gpu; worker 8 x gpus=2 cpus=1 memory=8GiB "
          "label=a100 after=chief");
  }
  TEST_CASE("TonY: faults") {
    CHECK(samples::contains(tony("tony.worker.instances=many\n"), "t.xml:2: found tony.worker.instances: 'many'"));
    CHECK(samples::contains(tony("tony.worker.instances=1\ntony.worker.gpus=-1\n"), "t.xml:3: found tony.worker.gpus"));
    CHECK(samples::contains(tony("tony.worker.instances=1\ntony.worker.memory=1x\n"), "memory such as 4g"));
    CHECK(samples::contains(tony("tony.ps.instances=0\n"), "no role with instances"));
    CHECK(samples::contains(jobs_test::describe_all(berth::read_tony({"t.xml", "<configuration>\n<property>"})),
                            "t.xml:2: found an XML syntax error"));
    CHECK(samples::contains(jobs_test::describe_all(berth::read_tony({"t.xml", "<a/>"})), "without <configuration>"));
    CHECK(samples::contains(
        jobs_test::describe_all(berth::read_tony({"t.xml", "<configuration>\n<property/></configuration>"})),
        "t.xml:2: found a property without a name"));
    CHECK_FALSE(berth::looks_like_tony("<configuration><property><name>yarn.x</name></property></configuration>"));
  }
  TEST_CASE("Flux: shapes of resources") {
    const row rows[] = {
        // RFC 25: four nodes with a slot of two cores each
        {"[{type: node, count: 4, with: [{type: slot, count: 1, label: default, with: [{type: core, count: 2}]}]}]",
         "job: tasks 4 x cpus=2 per-node=1"},
        // ten slots of two cores and a GPU, wherever
        {"[{type: slot, count: 10, label: default, with: [{type: core, count: 2}, {type: gpu, count: 1}]}]",
         "job: default 10 x gpus=1 cpus=2"},
        // sixteen tasks on four nodes
        {"[{type: node, count: 4, with: [{type: slot, count: 4, label: d, with: [{type: core, count: 1}, {type: gpu, "
         "count: 1}]}, "
         "{type: memory, count: 64, unit: GB}]}]",
         "job: tasks 4 x gpus=4 cpus=4 memory=62500000KiB per-node=1"},
        // slots that are whole nodes
        {"[{type: slot, count: 2, label: d, with: [{type: node, count: 2, with: [{type: socket, count: 2, with: "
         "[{type: core, count: 8}]}]}]}]",
         "job: d 4 x cpus=16 per-node=1 exclusive"},
        {"[{type: slot, count: 4, label: d, with: [{type: node, count: 1}]}]",
         "job: d 4 x cpus=0.001 per-node=1 exclusive"},
        // a range of nodes, and a set
        {"[{type: node, count: {min: 2, max: 8}, with: [{type: slot, count: 1, label: d, with: [{type: gpu, count: "
         "8}]}]}]",
         "job: tasks 2-8 x gpus=8 per-node=1"},
        {"[{type: slot, count: \"2,4-6\", label: d, with: [{type: core, count: 1}]}]", "job: d 2-6 x cpus=1"},
        // racks above nodes
        {"[{type: cluster, count: 1, with: [{type: rack, count: 2, with: [{type: node, count: 4, with: [{type: gpu, "
         "count: 8}]}]}]}]",
         "job segments=2:rack:spread: tasks 8 x gpus=8 per-node=1"},
        {"[{type: rack, count: 1, with: [{type: node, count: 4, exclusive: true, with: [{type: core, count: 1}]}]}]",
         "job within=rack: tasks 4 x cpus=1 per-node=1 exclusive"},
        {"[{type: slot, count: 1, label: a, with: [{type: core, count: 4}]}, {type: slot, count: 2, label: b, with: "
         "[{type: gpu, count: 1}, {type: nvme, count: 1}]}]",
         "job: a 1 x cpus=4; b 2 x gpus=1 other=nvme:1"},
        {"[]", "! j.yaml:1: found no resources"},
        {"[{type: slot, label: d, with: [{type: core, count: 1}]}]", "! without count"},
        {"[{type: slot, count: 0, label: d, with: [{type: core, count: 1}]}]", "! count: 0"},
        {"[{type: slot, count: \"4-2\", label: d}]", "! count: '4-2'"},
        {"[{type: slot, count: 9000000, label: d, with: [{type: node, count: 9}]}]", "! 81000000 tasks"},
        {"[{type: slot, count: 1, label: d, with: [{type: memory, count: 1, unit: furlong}]}]", "! unit: 'furlong'"},
        {"[3]", "! found 3, expected a resource"},
        {"3", "! resources: 3"},
    };
    for (const auto& r : rows)
      jobs_test::check_row(
          r, berth::read_flux_jobspec({"j.yaml", "resources: " + std::string{r.input} + "\ntasks: []\nversion: 1\n"}));
  }
  TEST_CASE("Flux: attributes") {
    const std::string head =
        "version: 1\nresources: [{type: slot, count: 2, label: d, with: [{type: gpu, count: 1}]}]\ntasks: "
        "[]\nattributes:\n  system:\n    ";
    const row rows[] = {
        {"{duration: 3600.5, queue: batch, job: {name: x}, dependencies: [{scheme: afterok, value: f1}]}",
         "x queue=batch seconds=3601 after=afterok:f1: d 2 x gpus=1"},
        {"{duration: 0, constraints: {properties: [amd, ^slow]}}", "job: d 2 x gpus=1 label=amd not=slow"},
        {"{constraints: {and: [{or: [{properties: [a]}, {properties: [b]}]}, {not: [{properties: [c]}]}, {hostlist: "
         "['n[1-2]']}]}}",
         "job: d 2 x gpus=1 not=c any=a|b on=n1 on=n2"},
        {"{constraints: {ranks: ['0']}}", "! the constraint 'ranks' here"},
        {"{constraints: {or: [{properties: [a, b]}]}}", "! an alternative of several properties"},
        {"{constraints: {hostlist: ['n[']}}", "! j.yaml:6: found '['"},
        {"{duration: soon}", "! duration: 'soon'"},
    };
    for (const auto& r : rows) jobs_test::check_row(r, berth::read_flux_jobspec({"j.yaml", head + r.input}));
    CHECK(berth::looks_like_flux_jobspec(head));
    CHECK(berth::looks_like_flux_jobspec(R"({"resources": [], "tasks": [], "version": 1})"));
    CHECK_FALSE(berth::looks_like_flux_jobspec("kind: Job\nresources:\ntasks:\nversion: 1\n"));
    CHECK_FALSE(berth::read_flux_jobspec({"j.json", "[1]"}).has_value());
  }
}

}  // namespace
