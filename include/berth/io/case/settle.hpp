#pragma once
/// \file
/// Cases of kind `settle` (KAI): jobs, queues and nodes, and the state of every job or pod once the named actions have
/// run. Needs nlohmann-json and Eigen.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/case/settle_reader.hpp"
#include "berth/io/case/value.hpp"
#include "berth/profile/kai.hpp"

namespace berth::case_io {

[[nodiscard]] inline std::string_view settled_name(kai::pod_state s) noexcept {
  switch (s) {
    case kai::pod_state::allocated:
      return "binding";
    case kai::pod_state::pipelined:
      return "pipelined";
    case kai::pod_state::running:
      return "running";
    case kai::pod_state::releasing:
      return "releasing";
    case kai::pod_state::stuck:
      return "stuck-in-releasing";
    case kai::pod_state::gated:
      return "gated";
    case kai::pod_state::gone:
      return "gone";
    case kai::pod_state::pending:
      break;
  }
  return "pending";
}

/// Compares what a case expects with the state of the cluster. Names of shared devices are the scheduler's own, so
/// devices are compared by who shares with whom.
class settle_comparison {
 public:
  settle_comparison(const case_question& q, const kai::cluster& c) : q_{q}, c_{c} {}
  [[nodiscard]] case_answer verdict() {
    const object body{q_.body, q_.source};
    auto list = body.items("expect");
    if (!list) return unexpected{std::move(list).error()};
    for (const auto& v : **list)
      if (auto ok = one(object{v, q_.source}); !ok) return unexpected{std::move(ok).error()};
    return case_verdict::compare(want_, got_);
  }

 private:
  [[nodiscard]] read<void> one(const object& o) {
    if (auto ok = o.is_object("expect"); !ok) return ok;
    std::string name, state, node;
    for (const auto& [key, to] :
         {std::pair{"job", &name}, std::pair{"pod", &name}, std::pair{"state", &state}, std::pair{"node", &node}})
      if (auto ok = o.text(key, *to); !ok) return ok;
    std::vector<std::string> devices;
    if (auto ok = o.texts("gpu_devices", devices); !ok) return ok;
    std::vector<std::size_t> who;
    for (std::size_t p = 0; p < c_.all_pods.size(); ++p)
      if (o.given("pod") != nullptr && c_.all_pods[p].name == name) who.push_back(p);
    if (who.empty())
      for (const auto& j : c_.jobs)
        if (j.name == name) who = j.pods;
    // The source looks up what it expects by pod, so that names of pods that there are not stay unchecked.
    if (who.empty() && o.given("pod") != nullptr) return {};
    if (who.empty()) return o.wrong("job", o.value(), "a job of the case");
    std::int64_t accepted = 0;
    for (const auto p : who) {
      const auto& x = c_.all_pods[p];
      std::string want = state, got{settled_name(x.state)};
      if (!node.empty() && state != "pending") {
        want += " " + node;
        got += " " + (x.node == kai::nowhere ? std::string{"nowhere"} : c_.nodes[x.node].name);
      }
      if (x.shares() && x.node != kai::nowhere && devices.size() == x.shared.size() && !devices.empty()) {
        want += sharing(want_devices_, want_numbers_, x.node, devices);
        got += sharing(got_devices_, got_numbers_, x.node, x.shared);
      }
      add(want_, x.name, want);
      add(got_, x.name, got);
      if (kai::on_node(x.state) && x.node != kai::nowhere) accepted += kai::accepted(c_.nodes[x.node], x)[kai::gpu];
    }
    if (const auto* a = o.given("gpu_accepted")) {
      auto n = thousandths(*a, "gpu_accepted", q_.source);
      if (!n) return unexpected{std::move(n).error()};
      add(want_, name + " GPUs/1000", std::to_string(*n));
      add(got_, name + " GPUs/1000", std::to_string(accepted));
    }
    return {};
  }
  static void add(std::string& to, const std::string& who, const std::string& what) {
    to += (to.empty() ? "" : "; ") + who + " " + what;
  }
  using names = std::map<std::pair<std::size_t, std::string>, std::size_t>;
  /// Devices of a node are numbered as they appear.
  static std::string sharing(names& known, std::map<std::size_t, std::size_t>& next, std::size_t node,
                             const std::vector<std::string>& devices) {
    std::vector<std::size_t> numbers;
    for (const auto& d : devices) {
      const auto [at, fresh] = known.try_emplace({node, d}, 0);
      if (fresh) at->second = next[node]++;
      numbers.push_back(at->second);
    }
    std::string out;
    for (const auto n : numbers) out += " device " + std::to_string(n);
    return out;
  }

  const case_question& q_;
  const kai::cluster& c_;
  std::string want_, got_;
  names want_devices_, got_devices_;
  std::map<std::size_t, std::size_t> want_numbers_, got_numbers_;
};

/// Answers a case of kind `settle` with KAI's rules. Not supported: what needs eviction, that is, where an action that
/// evicts could change anything; members of a case that are not known.
[[nodiscard]] inline case_answer answer_settle(const case_question& q) {
  if (q.profile != "kai") return case_verdict::unsupported("settle with profile " + q.profile);
  settle_reader r{q};
  if (auto ok = r.all(); !ok) return unexpected{std::move(ok).error()};
  if (!r.unknown.empty()) return case_verdict::unsupported(r.unknown);
  const std::string actions = q.policy_text("actions");
  const auto has = [&](std::string_view name) { return actions.find(name) != std::string::npos; };
  const bool repeats = has("+");
  // Runs that settle end with the eviction of stale gangs, whatever they name.
  const kai::evictions e{has("consolidat"), has("reclaim"), has("preempt"), repeats || has("stale")};
  auto& c = r.cluster;
  if (!has("allocate")) {
    // Actions that evict also place what fits as it is; without both nothing happens.
    kai::cluster copy = c;
    kai::allocation a{copy};
    for (std::size_t j = 0; j < c.jobs.size(); ++j)
      if ((e.reclaim || e.preempt || c.jobs[j].preemptible) && a.eligible(j) && a.attempt(j))
        return case_verdict::unsupported("eviction");
    if (kai::eviction_could_help(c, e)) return case_verdict::unsupported("eviction");
    return settle_comparison{q, c}.verdict();
  }
  // KAI's own runs end after seven cycles.
  for (int cycle = 0; cycle < (repeats ? 7 : 1); ++cycle) {
    if (cycle > 0) kai::next_cycle(c);
    kai::allocation{c}.run();
    if (kai::eviction_could_help(c, e)) return case_verdict::unsupported("eviction");
  }
  if (repeats) kai::next_cycle(c);
  return settle_comparison{q, c}.verdict();
}

}  // namespace berth::case_io
