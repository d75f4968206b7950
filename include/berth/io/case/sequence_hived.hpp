#pragma once
/// \file
/// Cases of kind `sequence` after HiveD's tests: pods of gangs come and go, nodes fail and return. Needs nlohmann-json.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/case/sequence_hived_reader.hpp"

namespace berth::case_io {

class hived_sequence {
 public:
  explicit hived_sequence(const case_question& q) : q_{q}, reader_{q} {}

  [[nodiscard]] case_answer verdict() {
    if (auto odd = case_io::unread(q_, "cluster cluster_ref tenants steps decisions changes",
                                   {{"cluster", "", ""}, {"steps", "", ""}}))
      return std::move(*odd);
    auto start = reader_.start();
    if (!start) return unexpected{std::move(start).error()};
    if (!reader_.unknown.empty()) return case_verdict::unsupported(reader_.unknown);
    scheduler_ = std::move(*start);
    const object body{q_.body, q_.source};
    auto steps = body.objects("steps");
    if (!steps) return unexpected{std::move(steps).error()};
    if (!scheduler_) return refused(body, *steps);
    for (const auto& o : *steps) {
      if (auto ok = step(o); !ok) return unexpected{std::move(ok).error()};
      if (unread_.misspelt) return unexpected{*unread_.misspelt};
      if (!unsupported_.empty()) return case_verdict::unsupported(unsupported_);
    }
    return case_verdict::compare(want_, got_);
  }

 private:
  static constexpr std::int64_t most_pods = 100'000;

  void known(const object& o, std::string_view keys, std::string_view what) {
    unread_.look(o.value(), keys, what, q_.source);
    if (unsupported_.empty()) unsupported_ = unread_.first;
  }
  void say(std::string want, std::string got) {
    if (!want_.empty()) want_ += "; ", got_ += "; ";
    want_ += want;
    got_ += got;
  }
  /// A configuration that reserves more than there is: no step is done.
  [[nodiscard]] case_answer refused(const object& body, const std::vector<object>& steps) {
    const auto* expect = body.given("expect");
    if (expect == nullptr && !steps.empty()) expect = steps[0].value().find("expect");
    std::string error;
    if (expect != nullptr && expect->type == json_value::kind::object)
      if (auto ok = object{*expect, q_.source}.text("error", error); !ok) return unexpected{std::move(ok).error()};
    // The configuration is all that can be wrong before the first request.
    const bool of_configuration = !error.empty() && error != "invalid-request";
    return case_verdict::compare(of_configuration ? "error in the configuration" : error, "error in the configuration");
  }
  [[nodiscard]] read<void> step(const object& o) {
    std::string op;
    if (auto ok = o.text("op", op); !ok) return ok;
    if (op == "schedule") return schedule(o);
    if (op == "delete") return remove(o);
    if (op == "check") return check(o);
    if (op == "node-bad" || op == "node-healthy") {
      known(o, "op node nodes expect", "step");
      std::vector<std::string> names(1);
      if (auto ok = o.text("node", names[0]); !ok) return ok;
      if (names[0].empty()) names.clear();
      if (auto ok = o.texts("nodes", names); !ok) return ok;
      for (const auto& name : names) {
        const auto n = reader_.node(name);
        if (!n) return o.wrong("node", o.value(), "a node of the cluster");
        if (op == "node-bad") scheduler_->node_bad(*n);
        else scheduler_->node_healthy(*n);
      }
      return check(o);
    }
    unsupported_ = "step " + op;
    return {};
  }
  [[nodiscard]] read<hived::request> request_of(const object& step) {
    const auto* v = step.given("request");
    if (v == nullptr) return step.wrong("request", step.value(), "a request");
    const object o{*v, q_.source};
    if (auto ok = o.is_object("request"); !ok) return unexpected{std::move(ok).error()};
    known(o,
          "pod tenant priority guaranteed gpus gpu_model gang gang_members lazy_preemption pinned pinned_cell "
          "allowed_nodes suggested_nodes",
          "request");
    hived::request r;
    std::string model;
    for (const auto& [key, to] :
         {std::pair{"pod", &r.pod}, std::pair{"tenant", &r.tenant}, std::pair{"gang", &r.gang},
          std::pair{"gpu_model", &model}, std::pair{"pinned", &r.pinned}, std::pair{"pinned_cell", &r.pinned}})
      if (auto ok = o.text(key, *to); !ok) return unexpected{std::move(ok).error()};
    if (!model.empty() && model != "any") r.model = model;
    if (auto ok = o.integer("priority", r.priority, -1'000'000, 1'000'000); !ok)
      return unexpected{std::move(ok).error()};
    if (auto ok = o.integer("gpus", r.devices, 0, max_count); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = o.flag("lazy_preemption", r.lazy); !ok) return unexpected{std::move(ok).error()};
    auto members = o.objects("gang_members");
    if (!members) return unexpected{std::move(members).error()};
    std::int64_t pods = 0;
    for (const auto& m : *members) {
      std::int64_t count = 0, devices = 0;
      known(m, "pods gpus", "gang member");
      if (auto ok = m.integer("pods", count, 0, most_pods); !ok) return unexpected{std::move(ok).error()};
      if (auto ok = m.integer("gpus", devices, 0, max_count); !ok) return unexpected{std::move(ok).error()};
      pods += count;
      if (pods > most_pods) return m.wrong("pods", m.value(), "at most a hundred thousand pods in a gang");
      if (count == 0 || devices == 0) r.devices = 0;  // Such a gang is refused.
      r.members[devices] += count;
    }
    if (r.gang.empty() && o.given("gang") == nullptr) r.gang = r.pod;
    if (r.members.empty()) r.members[r.devices] = 1;
    for (const char* key : {"allowed_nodes", "suggested_nodes"}) {
      if (o.given(key) == nullptr) continue;
      std::vector<std::string> names;
      if (auto ok = o.texts(key, names); !ok) return unexpected{std::move(ok).error()};
      r.allowed.assign(reader_.nodes.size(), false);
      for (const auto& name : names) {
        const auto n = reader_.node(name);
        if (!n) return o.wrong(key, o.value(), "nodes of the cluster");
        r.allowed[*n] = true;
      }
    }
    return r;
  }
  [[nodiscard]] read<void> schedule(const object& o) {
    known(o, "op request expect phase commit dry_run", "step");
    auto r = request_of(o);
    if (!r) return unexpected{std::move(r).error()};
    bool keep = true, dry = false;
    if (auto ok = o.flag("commit", keep); !ok) return ok;
    if (auto ok = o.flag("dry_run", dry); !ok) return ok;
    auto want = wanted(o);
    if (!want) return unexpected{std::move(want).error()};
    if (!unsupported_.empty()) return {};
    const auto a = scheduler_->schedule(*r, keep && !dry);
    if (a.what == hived::outcome::needs_eviction) {
      unsupported_ = "eviction";
      return {};
    }
    std::string got = a.what == hived::outcome::invalid ? "error invalid-request" : "waits";
    if (a.what == hived::outcome::bound) {
      got = bound(reader_.nodes[a.node], a.devices);
      bound_.push_back(r->pod);
    }
    if (want->empty()) return {};
    say(r->pod + " " + *want, r->pod + " " + got);
    return {};
  }
  [[nodiscard]] static std::string bound(const std::string& node, const std::vector<std::int64_t>& devices) {
    std::string out = "on " + node + " GPUs";
    for (const auto d : devices) {
      out += ' ';
      out += std::to_string(d);
    }
    return out;
  }
  /// What a step expects; empty where nothing.
  [[nodiscard]] read<std::string> wanted(const object& step) {
    const auto* v = step.given("expect");
    if (v == nullptr) return std::string{};
    const object o{*v, q_.source};
    if (auto ok = o.is_object("expect"); !ok) return unexpected{std::move(ok).error()};
    known(o, "bind wait preempt_victims_subset_of error why reason", "expect");
    std::string error;
    if (auto ok = o.text("error", error); !ok) return unexpected{std::move(ok).error()};
    if (!error.empty()) return "error " + error;
    if (o.given("preempt_victims_subset_of") != nullptr) return std::string{"preempts"};
    if (const auto* b = o.given("bind"); b != nullptr) {
      const object at{*b, q_.source};
      if (auto ok = at.is_object("bind"); !ok) return unexpected{std::move(ok).error()};
      std::string node;
      if (auto ok = at.text("node", node); !ok) return unexpected{std::move(ok).error()};
      auto items = at.items("gpus");
      if (!items) return unexpected{std::move(items).error()};
      std::vector<std::int64_t> devices;
      for (const auto& i : **items) {
        if (i.type != json_value::kind::integer) return at.wrong("gpus", i, "numbers of devices");
        devices.push_back(i.integer);
      }
      return bound(node, devices);
    }
    const bool waits = o.value().find("bind") != nullptr || o.given("wait") != nullptr;
    return std::string{waits ? "waits" : ""};
  }
  [[nodiscard]] read<void> remove(const object& o) {
    known(o, "op pod pods expect", "step");
    std::vector<std::string> pods(1);
    if (auto ok = o.text("pod", pods[0]); !ok) return ok;
    if (pods[0].empty()) pods.clear();
    if (const auto* all = o.given("pods"); all != nullptr && all->type == json_value::kind::string) {
      if (!all->text.starts_with("all")) unsupported_ = "deletion of " + all->text;
      pods.assign(bound_.rbegin(), bound_.rend());
    } else if (auto ok = o.texts("pods", pods); !ok) {
      return ok;
    }
    for (const auto& p : pods) {
      scheduler_->remove(p);
      bound_.erase(std::remove(bound_.begin(), bound_.end(), p), bound_.end());
    }
    return check(o);
  }
  [[nodiscard]] read<void> check(const object& o) {
    const auto* v = o.given("expect");
    if (v == nullptr) return {};
    const object e{*v, q_.source};
    if (auto ok = e.is_object("expect"); !ok) return ok;
    for (std::size_t i = 0; i < v->keys.size(); ++i) {
      const std::string_view key = v->keys[i];
      if (key == "note" || key == "why") continue;
      if (key == "lazily_preempted") {
        std::vector<std::string> want;
        if (auto ok = e.texts(key, want); !ok) return ok;
        std::string wanted_pods, got_pods;
        for (const auto& pod : want) wanted_pods += " " + pod, got_pods += lost_cells(pod) ? " " + pod : " -";
        say("lost cells:" + wanted_pods, "lost cells:" + got_pods);
      } else if (key.starts_with("gang ")) {
        const std::string name{key.substr(5)};
        std::string want;
        if (!is_null(&v->items[i]))
          if (auto ok = e.text(key, want); !ok) return ok;
        if (want.empty() || want == "none" || want == "deleted" || want == "gone") want = "absent";
        if (want != "absent" && want != "allocated") unsupported_ = "gang state " + want;
        say(name + " " + want, name + (scheduler_->gangs().count(name) > 0 ? " allocated" : " absent"));
      } else {
        unsupported_ = "check of " + std::string{key};
      }
    }
    return {};
  }
  /// Whether the gang of a pod was guaranteed and runs on as a spare one.
  [[nodiscard]] bool lost_cells(const std::string& pod) const {
    for (const auto& [name, gang] : scheduler_->gangs())
      for (const auto& [size, pods] : gang.pods)
        for (const auto& p : pods)
          if (p.pod == pod) return gang.priority >= 0 && !gang.guaranteed;
    return false;
  }

  const case_question& q_;
  hived_reader reader_;
  std::optional<hived::scheduler> scheduler_;
  std::vector<std::string> bound_;  ///< pods, as they came
  std::string want_, got_, unsupported_;
  unread_members unread_;
};

}  // namespace berth::case_io
