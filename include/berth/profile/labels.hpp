#pragma once
/// \file
/// Labels, taints and what selects by them, with Kubernetes' meaning (its documentation pages "Labels and Selectors",
/// "Taints and Tolerations", "Assigning Pods to Nodes").

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// A key and its value. A node has each key once.
struct label {
  std::string key;
  std::string value;
};
using label_list = std::vector<label>;

/// The value of a key. O(labels).
[[nodiscard]] inline const std::string* value_of(const label_list& labels, std::string_view key) noexcept {
  for (const auto& l : labels)
    if (l.key == key) return &l.value;
  return nullptr;
}

/// What a node keeps tasks off with.
struct node_taint {
  std::string key;
  std::string value;
  std::string effect;  ///< NoSchedule, NoExecute or PreferNoSchedule
};

/// What a task puts up with.
struct taint_toleration {
  std::string key;  ///< empty with `exists`: every taint
  std::string value;
  std::string effect;   ///< empty: every effect
  bool exists = false;  ///< whatever the value
  [[nodiscard]] bool tolerates(const node_taint& t) const {
    if (!effect.empty() && effect != t.effect) return false;
    if (!key.empty() && key != t.key) return false;
    if (key.empty() && !exists) return false;
    return exists || value == t.value;
  }
};

/// The first taint that keeps tasks with these tolerations off a node; null where none does. PreferNoSchedule never
/// does.
[[nodiscard]] inline const node_taint* untolerated(const std::vector<node_taint>& taints,
                                                   const std::vector<taint_toleration>& tolerations) {
  for (const auto& t : taints) {
    if (t.effect != "NoSchedule" && t.effect != "NoExecute") continue;
    bool tolerated = false;
    for (const auto& o : tolerations) tolerated = tolerated || o.tolerates(t);
    if (!tolerated) return &t;
  }
  return nullptr;
}

/// One condition on one label.
struct label_condition {
  enum class test : std::uint8_t { in, not_in, exists, does_not_exist, greater, less };
  std::string key;
  test op = test::in;
  std::vector<std::string> values;
  [[nodiscard]] bool matches(const label_list& labels) const {
    const std::string* have = value_of(labels, key);
    const auto listed = [&] {
      for (const auto& v : values)
        if (v == *have) return true;
      return false;
    };
    switch (op) {
      case test::in:
        return have != nullptr && listed();
      case test::not_in:
        return have == nullptr || !listed();
      case test::exists:
        return have != nullptr;
      case test::does_not_exist:
        return have == nullptr;
      case test::greater:
      case test::less: {
        if (have == nullptr || values.size() != 1) return false;
        const auto a = whole(*have), b = whole(values[0]);
        return a && b && (op == test::greater ? *a > *b : *a < *b);
      }
    }
    return false;
  }
  /// A whole number written out.
  [[nodiscard]] static std::optional<std::int64_t> whole(std::string_view s) noexcept {
    const bool minus = s.starts_with('-');
    if (minus) s.remove_prefix(1);
    if (s.empty() || s.size() > 18) return std::nullopt;
    std::int64_t n = 0;
    for (const char c : s) {
      if (c < '0' || c > '9') return std::nullopt;
      n = n * 10 + (c - '0');
    }
    return minus ? -n : n;
  }
};

/// All of its conditions hold. An empty one selects nothing, as in Kubernetes' node affinity.
struct label_term {
  std::vector<label_condition> all_of;
  [[nodiscard]] bool matches(const label_list& labels) const {
    for (const auto& c : all_of)
      if (!c.matches(labels)) return false;
    return !all_of.empty();
  }
};

/// A term and what a node that matches it is worth.
struct preferred_term {
  label_term term;
  std::int64_t weight = 0;
};

/// What a task says about the labels of its node.
struct node_wish {
  label_list selector;               ///< every one must be there
  std::vector<label_term> required;  ///< one of them must match, where there are any
  std::vector<preferred_term> preferred;
  std::vector<taint_toleration> tolerations;

  /// The first key of the selector that a node does not carry with that value; null where it carries all.
  [[nodiscard]] const label* missing(const label_list& labels) const {
    for (const auto& s : selector) {
      const std::string* have = value_of(labels, s.key);
      if (have == nullptr || *have != s.value) return &s;
    }
    return nullptr;
  }
  [[nodiscard]] bool affinity_matches(const label_list& labels) const {
    for (const auto& t : required)
      if (t.matches(labels)) return true;
    return required.empty();
  }
  /// Sum of the weights of the preferred terms that match.
  [[nodiscard]] std::int64_t preference(const label_list& labels) const {
    std::int64_t sum = 0;
    for (const auto& p : preferred)
      if (p.term.matches(labels)) sum += p.weight;
    return sum;
  }
};

}  // namespace berth
