#pragma once
/// \file
/// Sentences about what no file states.

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "berth/io/hostlist.hpp"
#include "berth/io/text.hpp"

namespace berth {

/// Sentences about groups of nodes, joined when several nodes share one.
class assumption_list {
 public:
  /// Notes that `text` holds for `node`. The sentence reads "<n> nodes (<names>): <text>".
  /// Once for a node, however often it is said.
  void add(std::string text, std::string node) {
    if (!said_.insert(text + '\n' + node).second) return;
    const auto [it, fresh] = index_.emplace(text, items_.size());
    if (fresh) items_.push_back({std::move(text), {}});
    items_[it->second].nodes.push_back(std::move(node));
  }
  /// One sentence per distinct text, in the order of first use.
  [[nodiscard]] std::vector<std::string> sentences() const {
    std::vector<std::string> out;
    for (const auto& i : items_) {
      std::string names = compress_hostlist(i.nodes);
      if (names.size() > 200) {
        names.resize(200);
        while (io_text::find_bad_utf8(names)) names.pop_back();
        names += "…";
      }
      out.push_back(io_text::counted(i.nodes.size(), "node") + " (" + names + "): " + i.text);
    }
    return out;
  }

 private:
  struct item {
    std::string text;
    std::vector<std::string> nodes;
  };
  std::vector<item> items_;
  std::unordered_map<std::string, std::size_t> index_;
  std::unordered_set<std::string> said_;
};

}  // namespace berth
