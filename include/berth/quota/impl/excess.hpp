#pragma once
/// \file
/// Bodies of `berth/quota/excess.hpp`.

#include "berth/quota/excess.hpp"

namespace berth {

BERTH_INLINE std::optional<std::vector<quota_amount>> excess(const queue_tree& t, queue_id q) {
  std::vector<quota_amount> out(t.resource_count(), 0);
  bool any = false;
  for (std::uint16_t r = 0; r < t.resource_count(); ++r) {
    const auto c = t.cell(q, resource_id{r});
    if (c.cap == unlimited || c.used <= c.cap) continue;
    quota_amount over = c.used - c.cap;
    for (auto i = t.parent(q); i; i = t.parent(i)) {
      const auto above = t.cell(i, resource_id{r});
      if (above.guarantee > 0) over = quota_detail::least(over, quota_detail::most(0, above.used - above.guarantee));
    }
    out[r] = over;
    any = any || over > 0;
  }
  if (!any) return std::nullopt;
  return out;
}

BERTH_INLINE std::vector<debtor> debtors(const queue_tree& t, queue_id q, resource_id r, quota_amount wanted) {
  std::vector<debtor> out;
  const auto own = t.cell(q, r);
  if (own.used >= quota_detail::least(own.subtree, wanted)) return out;
  for (auto below = q, up = t.parent(q);; below = up, up = t.parent(up)) {
    const auto first = up ? t.children(up).first : 0U;
    const auto count = up ? t.children(up).second : t.root_count();
    for (auto i = first; i < first + count; ++i) {
      const auto c = t.cell(queue_id{i}, r);
      if (queue_id{i} != below && c.used > c.subtree) out.push_back({queue_id{i}, c.used - c.subtree});
    }
    // Further up only while the ancestor as a whole is short of its guarantee.
    if (!up || t.cell(up, r).used >= t.cell(up, r).subtree) return out;
  }
}

}  // namespace berth
