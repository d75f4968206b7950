#pragma once
/// \file
/// What the readers of Kubernetes jobs share: the objects of the file, access to members with messages, jobs as they
/// grow. Inside this folder a fault is thrown as `job_fault` and caught in `read_kubernetes_jobs`.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/text.hpp"

namespace berth::kube_job {

struct job_fault {
  input_error what;
};
/// An object that asks for no pods at all; a fault only where nothing else in the file asks for any.
struct nothing_asked {
  input_error what;
  std::string why;  ///< the reason without the name of the object: what objects of one kind are counted by
};
/// An object that refers to one that is neither in the file nor beside it; likewise.
struct part_missing {
  input_error what;
};

/// A label that the controller of a pod adds to it.
///
/// Sources: `batch/v1` and JobSet (job names, indices, keys), LeaderWorkerSet, the training operator
/// (training.kubeflow.org/*), Volcano (volcano.sh/*), KubeRay (ray.io/*), Deployments (pod-template-hash),
/// StatefulSets.
struct given_label {
  enum class kind : std::uint8_t {
    known,
    unknown,  ///< made when the controller runs; no pod of another controller has it
    varying,  ///< another for each pod, or for parts of the job
  };
  std::string key, value;
  kind what = kind::known;
};

/// One job of the file, and what other objects may still say about it.
struct draft {
  job_spec job;
  const json_value* at = nullptr;
  std::string space = "default";         ///< its namespace
  std::string ray_cluster;               ///< its name, likewise
  std::string job_set;                   ///< name of the JobSet; "" where it is made up or there is none
  std::vector<given_label> given;        ///< labels of the pods that are read next, besides those of their template
  std::string pod_group;                 ///< name of the PodGroup that its pods belong to; "" for none
  bool single_pods = false;              ///< pods that belong together only by `pod_group`
  std::string node;                      ///< of a single pod that runs: where
  std::vector<std::uint32_t> runs;       ///< by group: its pods that run; may be shorter than the groups
  std::uint32_t runs_somewhere = 0;      ///< pods that run, of a part that is not known
  std::uint32_t group_total = 0;         ///< of a single pod: the pods of its group, where it says so
  const json_value* total_at = nullptr;  ///< where it says that
  std::vector<std::string> roles;        ///< by group: name of its part of the PodGroup; "" for none
  std::string pod_set;                   ///< Kueue's name for groups that share one domain; "" for none
  bool one_pod_set = true;               ///< so far every group has that name
  std::string affinity;                  ///< HiveD's affinity group of the group read last; "" for none
  std::vector<std::pair<std::uint32_t, std::uint32_t>> members;  ///< of it, as {pods, cells of each}
};

class context {
 public:
  context(const kube_documents& file, const std::vector<const kube_documents*>& beside)
      : file_{file}, in_{file.source} {
    const auto list = [&](const kube_documents& d) {
      for (const auto& o : d.objects)
        if (o.kind != "Pod") named_[{o.kind, o.name}].push_back(&o);
    };
    list(file);
    for (const auto* d : beside) list(*d);
  }

  [[nodiscard]] const kube_documents& file() const noexcept { return file_; }
  [[nodiscard]] const kube_reader& in() const noexcept { return in_; }
  [[noreturn]] void fail(const json_value& at, std::string found, std::string wanted) const {
    throw job_fault{{in_.source(), at.line, std::move(found), std::move(wanted)}};
  }
  /// \param why  `found` without the name of the object; "" where it has none
  [[noreturn]] void none(const json_value& at, std::string found, std::string wanted, std::string why = {}) const {
    if (why.empty()) why = found;
    throw nothing_asked{{in_.source(), at.line, std::move(found), std::move(wanted)}, std::move(why)};
  }
  /// \param what  the object that is not there
  [[noreturn]] void lack(const json_value& at, const std::string& what, std::string wanted) const {
    throw part_missing{{in_.source(), at.line, what + ", which is not in the file", std::move(wanted)}};
  }
  template <class T>
  [[nodiscard]] T need(expected<T, input_error> v) const {
    if (!v) throw job_fault{std::move(v).error()};
    return std::move(*v);
  }

  /// Members; null or empty when absent or null, a fault when of another kind. A null parent has no members.
  [[nodiscard]] const json_value* object(const json_value* v, std::string_view key) const {
    return v == nullptr ? nullptr : need(in_.optional_member(*v, key, json_value::kind::object));
  }
  [[nodiscard]] const json_value* array(const json_value* v, std::string_view key) const {
    return v == nullptr ? nullptr : need(in_.optional_member(*v, key, json_value::kind::array));
  }
  [[nodiscard]] const json_value& needed(const json_value& v, std::string_view key, json_value::kind k) const {
    return *need(in_.member(v, key, k));
  }
  [[nodiscard]] placed_word text(const json_value* v, std::string_view key) const {
    if (v == nullptr) return {};
    auto t = need(in_.optional_text(*v, key));
    if (!t) return {};
    return {std::move(*t), v->find(key)->line};
  }
  [[nodiscard]] std::optional<std::int64_t> integer(const json_value* v, std::string_view key, std::int64_t least,
                                                    std::int64_t most) const {
    if (v == nullptr) return std::nullopt;
    return need(in_.optional_integer(*v, key, least, most));
  }
  [[nodiscard]] std::optional<std::uint32_t> tasks(const json_value* v, std::string_view key,
                                                   std::int64_t least = 0) const {
    const auto n = integer(v, key, least, max_tasks);
    return n ? std::optional{static_cast<std::uint32_t>(*n)} : std::nullopt;
  }
  [[nodiscard]] bool flag(const json_value* v, std::string_view key, bool otherwise = false) const {
    return v == nullptr ? otherwise : need(in_.flag(*v, key, otherwise));
  }
  /// A product of counts within `max_tasks`.
  [[nodiscard]] std::uint32_t product(const json_value& at, std::uint64_t a, std::uint64_t b) const {
    if (a * b > max_tasks) fail(at, std::to_string(a * b) + " tasks", "at most " + std::to_string(max_tasks));
    return static_cast<std::uint32_t>(a * b);
  }

  /// A label or annotation of an object or pod template; "" when there is none.
  [[nodiscard]] std::string label(const json_value* metadata, std::string_view key) const {
    return text(object(metadata, "labels"), key);
  }
  [[nodiscard]] placed_word annotation(const json_value* metadata, std::string_view key) const {
    return text(object(metadata, "annotations"), key);
  }
  /// An annotation or label that is a number of tasks.
  [[nodiscard]] std::optional<std::uint32_t> noted_tasks(const json_value* metadata, std::string_view key) const {
    for (const char* where : {"annotations", "labels"})
      if (auto n = tasks(object(metadata, where), key, 1)) return n;
    return std::nullopt;
  }

  /// The object of that kind and name; null when neither the file nor those beside it have it. Of several of that name
  /// the one of the namespace, else the first.
  [[nodiscard]] const kube_object* find(const std::string& kind, const std::string& name,
                                        const std::string& space) const {
    const auto all = named_.find({kind, name});
    if (all == named_.end()) return nullptr;
    for (const auto* o : all->second)
      if (o->space() == space) return o;
    return all->second.front();
  }
  /// All objects of that kind, by name.
  template <class F>
  void each_of(const std::string& kind, F f) const {
    for (auto i = named_.lower_bound({kind, ""}); i != named_.end() && i->first.first == kind; ++i)
      for (const auto* o : i->second) f(*o);
  }

  /// A sentence of the job about something the reader took for granted.
  void assume(job_spec& job, const json_value& at, const std::string& what) const {
    std::string s = in_.source() + ":" + std::to_string(at.line) + ": " + what + ".";
    for (const auto& have : job.assumptions)
      if (have == s) return;
    if (job.assumptions.size() < 1000) job.assumptions.push_back(std::move(s));
  }

 private:
  const kube_documents& file_;
  kube_reader in_;
  std::map<std::pair<std::string, std::string>, std::vector<const kube_object*>> named_;  // by kind and name; no pods
};

/// Counts pods that request nothing as a thousandth of a CPU, and says so: they must be somewhere.
inline void settle_empty(const context& c, draft& d) {
  for (auto& g : d.job.groups) {
    if (!job_detail::asks_for_nothing(g)) continue;
    g.cpu = cpu_millis{1};
    c.assume(d.job, *d.at,
             "pods of group " + io_text::quoted(g.name) + " request nothing; each is counted as a thousandth of a CPU");
  }
}

/// `name`, or one that no group of the job has yet.
[[nodiscard]] inline std::string free_name(const job_spec& job, std::string name) {
  if (name.empty()) name = "tasks";
  const std::string stem = name + "-";
  const auto taken = [&] {
    for (const auto& g : job.groups)
      if (g.name == name) return true;
    return false;
  };
  if (!taken()) return name;
  std::size_t n = 2;  // the next one, where those before it are counted through
  for (const auto& g : job.groups) n += g.name.starts_with(stem) ? 1U : 0U;
  do name = stem + std::to_string(n++);
  while (taken());
  return name;
}

}  // namespace berth::kube_job
