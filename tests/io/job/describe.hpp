#pragma once
/// \file
/// A job in one line, for tables of expected readings. What has its default value is left out; assumptions too.

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../samples.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/text_file.hpp"

namespace jobs_test {

inline std::string sample_path(const std::string& name) {
  return std::string{BERTH_SOURCE_DIR} + "/tests/io/job/data/" + name;
}
inline berth::named_text sample(const std::string& name) {
  auto text = berth::load_text_file(sample_path(name));
  REQUIRE_MESSAGE(text.has_value(), "cannot read " << sample_path(name));
  return {name, std::move(*text)};
}

inline std::string joined(const std::vector<std::string>& all, const char* between) {
  std::string out;
  for (const auto& s : all) out += (out.empty() ? "" : between) + s;
  return out;
}
inline std::string describe(const berth::segment_spec& s) {
  return std::to_string(s.count) + ":" + s.level +
         (s.layout == berth::segment_layout::spread        ? ":spread"
          : s.layout == berth::segment_layout::consolidate ? ":consolidate"
                                                           : "");
}
/// `rack:skew=1:least=2?own` : a wish has a question mark; then who counts: own tasks, `+` others that meet the
/// selector.
inline std::string describe(const berth::spread_spec& s) {
  std::string out = s.level;
  if (s.max_skew != 0) out += ":skew=" + std::to_string(s.max_skew);
  if (s.minimum_domains != 0) out += ":least=" + std::to_string(s.minimum_domains);
  if (s.at_most) out += ":most=" + std::to_string(*s.at_most);
  if (s.beside) out += ":beside";
  if (s.declared_only) out += ":declared";
  if (s.any_labels) out += ":any-labels";
  if (s.any_taints) out += ":any-taints";
  out += s.required ? "!" : "?";
  if (s.own) out += "own";
  if (!s.others) return out;
  using kind = berth::label_requirement::kind;
  out += "+";
  for (const auto& r : s.selector) {
    if (r.key == berth::namespace_label && r.values == std::vector<std::string>{"default"}) continue;
    out += (r.what == kind::missing || r.what == kind::not_in ? "-" : "") + r.key;
    if (r.what == kind::in || r.what == kind::not_in) out += "=" + joined(r.values, "|");
    out += ";";
  }
  return out;
}
/// `name 2-6 x gpus=1 cpus=0.5 …`
inline std::string describe(const berth::group_spec& g) {
  std::string out =
      g.name + " " + (g.minimum == g.wanted ? "" : std::to_string(g.minimum) + "-") + std::to_string(g.wanted) + " x";
  const auto add = [&](const char* key, const std::string& value) { out += std::string{" "} + key + "=" + value; };
  if (g.gpus != 0) add("gpus", std::to_string(g.gpus));
  if (g.cpu.count() != 0) add("cpus", berth::io_text::cpus_text(g.cpu));
  if (g.memory.count() != 0) add("memory", berth::io_text::memory_text(g.memory));
  if (!g.gpu_model.empty()) add("model", g.gpu_model);
  if (g.share)
    add("share", std::to_string(g.share->portions) + "x" +
                     (g.share->thousandths != 0 ? std::to_string(g.share->thousandths)
                                                : berth::io_text::memory_text(g.share->memory)));
  for (const auto& m : g.mig) add("mig", m.name + ":" + std::to_string(m.count));
  for (const auto& m : g.other) add("other", m.name + ":" + std::to_string(m.count));
  for (const auto& l : g.labels) add("label", l);
  for (const auto& l : g.not_labels) add("not", l);
  for (const auto& l : g.any_labels) add("any", joined(l, "|"));
  for (const auto& l : g.tolerations) add("tolerates", l);
  for (const auto& l : g.only_nodes) add("on", l);
  if (g.most != 0) add("most", std::to_string(g.most));
  if (g.per_node != 0) add("per-node", std::to_string(g.per_node));
  if (g.exclusive) out += " exclusive";
  if (!g.own.within.empty()) add("within", g.own.within);
  if (!g.own.prefer.empty()) add("prefer", g.own.prefer);
  if (g.own.segments) add("segments", describe(*g.own.segments));
  for (const auto& r : g.spread) add("spread", describe(r));
  for (const auto& l : g.after) add("after", l);
  return out;
}
/// `name within=rack: group; group`
inline std::string describe(const berth::job_spec& j) {
  std::string out = j.name;
  const auto add = [&](const char* key, const std::string& value) { out += std::string{" "} + key + "=" + value; };
  if (!j.queue.empty()) add("queue", j.queue);
  if (!j.priority_class.empty()) add("class", j.priority_class);
  if (j.priority) add("priority", std::to_string(*j.priority));
  if (j.seconds != 0) add("seconds", std::to_string(j.seconds));
  if (j.where == berth::locality::required) add("within", j.level);
  if (j.where == berth::locality::preferred) add("prefer", j.level);
  if (!j.prefer.empty()) add("and-prefer", j.prefer);
  if (j.segments) add("segments", describe(*j.segments));
  if (j.exclusive_domain) out += " exclusive-domain";
  if (j.minimum != 0) add("min", std::to_string(j.minimum));
  if (j.copies != 1) add("copies", std::to_string(j.copies));
  for (const auto& a : j.after) add("after", a);
  out += ":";
  for (std::size_t i = 0; i < j.groups.size(); ++i) out += (i == 0 ? " " : "; ") + describe(j.groups[i]);
  return out;
}
/// All jobs, or the fault.
template <class Jobs>
std::string describe_all(const Jobs& jobs) {
  if (!jobs) return "! " + samples::failure(jobs);
  std::vector<std::string> lines;
  for (const auto& j : *jobs) lines.push_back(describe(j));
  return joined(lines, "\n");
}

/// A table row: what is read, and the lines it gives (or `! ` and a part of the fault).
struct row {
  const char* input;
  const char* expected;
};
/// Checks that a reading is what its row says.
template <class Jobs>
void check_row(const row& r, const Jobs& jobs) {
  const std::string got = describe_all(jobs);
  const std::string expected = r.expected;
  if (expected.starts_with("! "))
    CHECK_MESSAGE(samples::contains(got, expected.substr(2)), (std::string{r.input} + "\n" + got));
  else CHECK_MESSAGE(got == expected, (std::string{r.input} + "\n" + got));
}

/// A pod template with one container that asks for GPUs, indented for `template:`.
inline constexpr const char* gpu_pod = "{spec: {containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}}";
inline constexpr const char* cpu_pod = "{spec: {containers: [{resources: {requests: {cpu: 2, memory: 4Gi}}}]}}";

inline constexpr const char* noted_pod =
    "{metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack, kueue.x-k8s.io/podset-group-name: g}}, "
    "spec: {containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}}";

/// The text with `@GPU`, `@NOTED` and `@CPU` replaced by these templates.
inline std::string with_pods(std::string s) {
  for (const auto& [word, pod] :
       {std::pair{"@GPU", gpu_pod}, std::pair{"@CPU", cpu_pod}, std::pair{"@NOTED", noted_pod}})
    for (std::size_t at = s.find(word); at != std::string::npos; at = s.find(word, at))
      s.replace(at, std::string_view{word}.size(), pod);
  return s;
}

}  // namespace jobs_test
