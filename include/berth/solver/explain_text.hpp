#pragma once
/// \file
/// An `explanation` in English, for people. Scripts read the numbers instead.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/explanation.hpp"

namespace berth {

/// A domain in words: "leaf sw01", "spine-0" where the name says the level, "the cluster", or by its first node where
/// it has no name.
[[nodiscard]] std::string domain_text(const cluster_spec& spec, level_id l, domain_id d);

namespace detail {

[[nodiscard]] std::string counted_text(std::uint64_t n, const std::string& word);
[[nodiscard]] std::string cpu_words(cpu_millis c);
/// "8 GPUs, 16 CPUs and 100 GiB"
[[nodiscard]] std::string shape_words(const task_shape& t);

struct explanation_writer {
  const explanation& e;
  const gang& g;
  const cluster_spec& spec;

  [[nodiscard]] const task_group& group() const { return g.groups[e.group]; }
  [[nodiscard]] std::string of_group() const;
  [[nodiscard]] std::string one_of_level() const;
  [[nodiscard]] std::string tasks(std::uint64_t n) const;

  [[nodiscard]] static const char* fault_words(gang_fault f);
  [[nodiscard]] std::string headline() const;
  [[nodiscard]] std::string wish() const;
  [[nodiscard]] std::string near_words(const near_miss& n) const;
  [[nodiscard]] static std::string upper(std::string s);
  [[nodiscard]] static std::string rate_words(std::int64_t bytes_per_second);
  /// "The uplinks of leaf-1 lack …".
  [[nodiscard]] std::string link_sentence(const lacking_link& l) const;
  void scatter(std::vector<std::string>& out) const;
  [[nodiscard]] const char* cause_words(node_cause c) const;
  [[nodiscard]] std::string cause_sentence() const;
  [[nodiscard]] std::string taint_sentence() const;
  [[nodiscard]] std::string remedy_sentence(const remedy& r) const;
};

}  // namespace detail

/// The explanation as sentences, most important first: the verdict, the nearest miss, what stands in the way, then one
/// sentence per change that would make it fit. \pre `e` was made for `g` on a cluster built from `spec`
[[nodiscard]] std::vector<std::string> explanation_sentences(const explanation& e, const gang& g,
                                                             const cluster_spec& spec);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/explain_text.hpp"
#endif
