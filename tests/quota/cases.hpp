#pragma once
/// Scheduling questions with known answers, read from tests/quota/data/ (see its README).

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "berth/io/text_file.hpp"
#include "berth/quota/queue_tree.hpp"

namespace quota_cases {

using json = nlohmann::json;

inline json load(const std::string& name) {
  const auto text = berth::load_text_file(std::string{BERTH_SOURCE_DIR} + "/tests/quota/data/" + name);
  REQUIRE_MESSAGE(text, name);
  return json::parse(*text);
}

inline berth::resource_id column(berth::queue_tree_spec& s, const std::string& pool, const std::string& name) {
  for (std::size_t i = 0; i < s.resources.size(); ++i)
    if (s.resources[i].pool == pool && s.resources[i].name == name)
      return berth::resource_id{static_cast<std::uint16_t>(i)};
  s.resources.push_back({name, pool, 1});
  for (auto& q : s.queues) q.quota.emplace_back();
  return berth::resource_id{static_cast<std::uint16_t>(s.resources.size() - 1)};
}

inline berth::quota_amount amount_or(const json& o, const char* key, berth::quota_amount otherwise) {
  return o.contains(key) && !o[key].is_null() ? o[key].get<berth::quota_amount>() : otherwise;
}

/// Kueue's queues and cohorts of one case.
inline berth::queue_tree_spec kueue_tree(const json& c) {
  berth::queue_tree_spec s;
  s.source = c["id"];
  for (const char* list : {"queue_groups", "queues"})
    for (const auto& q : c[list]) {
      berth::queue_spec out;
      out.name = q["name"];
      if (!q["parent"].is_null()) out.parent = q["parent"];
      if (q.contains("weight")) out.weight = static_cast<berth::quota_amount>(q["weight"].get<double>() * 1000 + 0.5);
      out.group = std::string{list} == "queue_groups";
      s.queues.push_back(out);
    }
  std::size_t at = 0;
  for (auto& q : s.queues) q.quota.resize(s.resources.size());
  for (const char* list : {"queue_groups", "queues"})
    for (const auto& q : c[list]) {
      if (q.contains("quota"))
        for (const auto& [pool, kinds] : q["quota"].items())
          for (const auto& [kind, k] : kinds.items()) {
            const auto r = column(s, pool, kind);
            auto& out = s.queues[at].quota[r.index()];
            out.guarantee = amount_or(k, "nominal", 0);
            out.borrowing_limit = amount_or(k, "borrowing_limit", berth::unlimited);
            out.lending_limit = amount_or(k, "lending_limit", berth::unlimited);
          }
      ++at;
    }
  return s;
}

}  // namespace quota_cases
