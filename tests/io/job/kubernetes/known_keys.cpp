// Labels and annotations of schedulers that are misspelt or not read are told, others are not.
#include "berth/io/job/kubernetes/known_keys.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

using berth::kube_job::remark_on_key;

TEST_SUITE("io/job/kubernetes/known_keys") {
  TEST_CASE("a key that is almost one that says where pods go is told with that") {
    struct row {
      const char *key, *meant;
    };
    for (const auto& r :
         {row{"kueue.x-k8s.io/podset-requird-topology", "kueue.x-k8s.io/podset-required-topology"},
          row{"kueue.x-k8s.io/Podset-Slice-Size", "kueue.x-k8s.io/podset-slice-size"},
          row{"kueue.x-k8s.oi/podset-slice-required-topology", "kueue.x-k8s.io/podset-slice-required-topology"},
          row{"leaderworkerset.sigs.k8s.io/exclusive-topolgy", "leaderworkerset.sigs.k8s.io/exclusive-topology"},
          row{"alpha.jobset.sigs.k8s.io/exlusive-topology", "alpha.jobset.sigs.k8s.io/exclusive-topology"},
          row{"kai.scheduler/batch-min-members", "kai.scheduler/batch-min-member"},
          row{"gang.scheduling.koordinator.sh/min-avialable", "gang.scheduling.koordinator.sh/min-available"},
          row{"scheduling.volcano.sh/queue_name", "scheduling.volcano.sh/queue-name"}})
      CHECK(remark_on_key(r.key) ==
            "'" + std::string{r.key} + "' is passed over, as it is by the scheduler; '" + r.meant + "' may be meant");
  }
  TEST_CASE("a key that a scheduler may read and berth does not is told with those that are read") {
    CHECK(remark_on_key("leaderworkerset.sigs.k8s.io/foo") ==
          "'leaderworkerset.sigs.k8s.io/foo' is not read; of leaderworkerset.sigs.k8s.io berth reads "
          "exclusive-topology, subgroup-exclusive-topology");
    CHECK_FALSE(remark_on_key("kai.scheduler/segment-size").empty());
    CHECK_FALSE(remark_on_key("kueue.x-k8s.io/pod-group-size").empty());
  }
  TEST_CASE("keys that are read, that make no difference to placement, or are of others are not worth a word") {
    for (const char* key :
         {"kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/managed",
          "kai.scheduler/preemptibility", "leaderworkerset.sigs.k8s.io/subgroup-size", "scheduling.x-k8s.io/pod-group",
          "app.kubernetes.io/name", "example.com/podset-required-topology", "podset-requird-topology", "name", "", "/",
          "kueue.x-k8s.oi/name"})
      CHECK_MESSAGE(remark_on_key(key).empty(), key);
  }
}

}  // namespace
