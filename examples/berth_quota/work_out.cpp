#include "berth_quota/work_out.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "berth/io/text.hpp"
#include "berth/quota/division/policies.hpp"
#include "berth/quota/kueue_share.hpp"
#include "berth/quota/order/fair_tree.hpp"
#include "berth/quota/share_book.hpp"

namespace berth_quota {

using berth::input_error;
using berth::queue_id;
using berth::quota_amount;
using berth::resource_id;
using berth::unexpected;

berth::expected<void, input_error> add_capacity(std::string_view list, berth::queue_tree_spec& tree) {
  tree.capacity.resize(tree.resources.size());
  std::vector<bool> seen(tree.resources.size(), false);
  for (bool more = !list.empty(); more;) {
    const auto comma = list.find(',');
    const auto word = list.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
    const auto equals = word.rfind('=');
    const auto n =
        equals == std::string_view::npos
            ? std::nullopt
            : berth::io_text::parse_count(word.substr(equals + 1), static_cast<std::uint64_t>(berth::max_quota));
    if (!n)
      return unexpected{input_error{"--capacity", 0, berth::io_text::quoted(word), "RESOURCE=N with a whole number N"}};
    bool found = false;
    for (std::size_t r = 0; r < tree.resources.size() && !found; ++r)
      if (tree.resources[r].label() == word.substr(0, equals)) {
        if (seen[r])
          return unexpected{input_error{
              "--capacity", 0, berth::io_text::quoted(word) + " beside another capacity of it", "every resource once"}};
        found = seen[r] = true;
        tree.capacity[r] = static_cast<quota_amount>(*n);
      }
    if (!found) {
      std::string known;
      for (const auto& r : tree.resources) known += (known.empty() ? "" : ", ") + r.label();
      return unexpected{input_error{
          "--capacity", 0, "unknown resource " + berth::io_text::quoted(word.substr(0, equals)), "one of " + known}};
    }
  }
  return {};
}

namespace {

// Whether the queue or one above it is stopped: then it can use nothing.
bool stopped(const berth::queue_tree& t, queue_id q) {
  for (auto i = q; i; i = t.parent(i))
    if (!t.spec(i).active) return true;
  return false;
}

// What there is of a resource: its capacity, where that is not known the caps of the roots, else their guarantees.
quota_amount all_there_is(const berth::queue_tree& t, resource_id k) {
  const auto& known = t.description().capacity;
  if (k.index() < known.size() && known[k.index()]) return *known[k.index()];
  quota_amount all = 0;
  for (std::uint32_t i = 0; i < t.root_count(); ++i) {
    const auto c = t.cell(queue_id{i}, k);
    all = berth::quota_detail::add(all, c.cap == berth::unlimited ? c.subtree : c.cap);
  }
  return all;
}

// What is left above a queue that has only caps: the most that its subtree could ever use.
quota_amount most_it_can_use(const berth::queue_tree& t, queue_id q, resource_id r) {
  quota_amount most = t.description().rule == berth::quota_rule::cohort ? t.cell(q, r).potential : berth::unlimited;
  for (auto i = q; i; i = t.parent(i)) most = berth::quota_detail::least(most, t.cell(i, r).cap);
  const auto& c = t.description().capacity;
  if (r.index() < c.size() && c[r.index()]) most = berth::quota_detail::least(most, *c[r.index()]);
  return most;
}

template <class Policy>
void divide(const Policy& policy, const berth::queue_tree& t, const std::vector<std::vector<quota_amount>>& demand,
            result& out, std::vector<std::vector<quota_amount>>& share) {
  berth::share_book<Policy> book{t, policy};
  for (std::uint16_t r = 0; r < t.resource_count(); ++r) {
    const resource_id k{r};
    const auto& known = t.description().capacity;
    if (t.description().rule == berth::quota_rule::caps && !(r < known.size() && known[r])) {
      // Not stated: the caps of the roots, else what they are guaranteed.
      quota_amount caps = 0;
      for (std::uint32_t i = 0; i < t.root_count(); ++i)
        caps = berth::quota_detail::add(caps, t.cell(queue_id{i}, k).cap);
      if (caps != berth::unlimited) book.set_capacity(k, caps);
      out.notes.push_back("capacity of " + t.resource(k).label() + " is not known: taken as " +
                          (book.capacity(k) == berth::max_quota ? "endless" : std::to_string(book.capacity(k))) +
                          (caps != berth::unlimited ? ", the cap of the root" : ", the guarantees") +
                          " (see --capacity)");
    }
    for (std::uint32_t i = 0; i < t.queue_count(); ++i) {
      quota_amount want = demand[r][i];
      if (want == berth::unlimited) want = book.capacity(k);
      if (want > 0 && !book.set_demand(queue_id{i}, k, want))
        out.notes.push_back("demand of " + t.name(queue_id{i}) + " for " + t.resource(k).label() +
                            " leaves the range of amounts");
    }
  }
  const auto& all = book.shares();
  for (std::uint16_t r = 0; r < t.resource_count(); ++r)
    for (std::uint32_t i = 0; i < t.queue_count(); ++i) share[r][i] = all(i, r);
}

}  // namespace

berth::expected<result, input_error> work_out(const berth::queue_file& file, berth::queue_tree& t,
                                              const berth::usage_file* usage, const std::string& usage_name) {
  result out;
  out.file = &file;
  out.tree = &t;
  out.notes = file.notes;
  const std::size_t n = t.queue_count(), m = t.resource_count();
  std::vector<std::vector<quota_amount>> demand(m, std::vector<quota_amount>(n, 0)), share = demand;
  if (usage != nullptr) {
    for (const auto& u : usage->usage) {
      const berth::quota_demand d{resource_id{static_cast<std::uint16_t>(u.resource)}, u.amount};
      const auto q = t.find(u.queue);
      if (const auto a = t.add_usage(q, {&d, 1}); !a)
        return unexpected{input_error{
            usage_name, u.line, "usage of queue " + berth::io_text::quoted(u.queue) + " that adds up to more than 2^62",
            "less"}};
      demand[u.resource][q.index()] = u.amount;
    }
    for (const auto& u : usage->demand) demand[u.resource][t.find(u.queue).index()] = u.amount;
  } else {
    out.notes.emplace_back("no usage given: every queue without children is taken to want all that it may have");
    for (std::uint32_t i = 0; i < n; ++i)
      for (std::uint16_t r = 0; r < m; ++r)
        if (t.children(queue_id{i}).second == 0 && !t.spec(queue_id{i}).group && !stopped(t, queue_id{i}))
          demand[r][i] = most_it_can_use(t, queue_id{i}, resource_id{r});
  }
  berth::with_division_policy(file.policy, [&](const auto& p) { divide(p, t, demand, out, share); });

  std::vector<double> factor;
  if (file.system == "slurm") {
    // Ids run level by level, so that parents stand before their children.
    std::vector<berth::fair_tree_node> nodes(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      const queue_id q{i};
      auto& node = nodes[i];
      node.parent = t.parent(q) ? t.parent(q).raw() : berth::fair_tree_node::no_parent;
      node.shares = file.shares_as_parent.count(t.name(q)) != 0 ? berth::fair_tree_node::as_parent : t.spec(q).weight;
      node.user = !t.spec(q).group;
      if (const auto u = file.raw_usage.find(t.name(q)); u != file.raw_usage.end()) node.usage = u->second;
    }
    factor = berth::fair_tree::factors(nodes);
  }

  // All lenders, but in trees so large that nobody would read them: there the nearest ones.
  const std::size_t listed = std::max<std::size_t>(16, 200'000 / std::max<std::size_t>(1, n * m));
  std::vector<berth::lender_index> lenders;
  std::vector<quota_amount> whole;
  for (std::uint16_t r = 0; r < m; ++r) {
    lenders.emplace_back(t, resource_id{r});
    whole.push_back(all_there_is(t, resource_id{r}));
  }

  std::vector<std::pair<queue_id, std::size_t>> todo;
  for (std::uint32_t i = t.root_count(); i-- > 0;) todo.push_back({queue_id{i}, 0});
  while (!todo.empty()) {
    const auto [q, depth] = todo.back();
    todo.pop_back();
    const auto [first, count] = t.children(q);
    for (auto i = first + count; i-- > first;) todo.push_back({queue_id{i}, depth + 1});
    one_queue o;
    o.id = q;
    o.depth = depth;
    if (!factor.empty() && !t.spec(q).group) o.fair_share = factor[q.index()];
    const auto kueue = berth::kueue_share_of(t, q);
    for (std::uint16_t r = 0; r < m; ++r) {
      const resource_id k{r};
      const auto c = t.cell(q, k);
      one_resource x;
      x.guarantee = c.subtree;
      x.share = share[r][q.index()];
      x.usage = c.used;
      x.demand = demand[r][q.index()];
      x.cap = c.cap;
      x.may_borrow = stopped(t, q) ? 0 : berth::may_borrow(t, q, k);
      if (x.may_borrow > 0) {
        auto from = lenders[r].of(q, listed);
        x.from = std::move(from.nearest);
        x.more = from.more;
      }
      if (t.description().rule == berth::quota_rule::cohort) {
        const auto above = t.parent(q);
        const auto borrowed = c.climbed - c.subtree;
        if (above && borrowed > 0) {
          const double lendable = static_cast<double>(t.cell(above, k).potential);
          x.dominant = kueue.infinite() ? HUGE_VAL
                       : lendable > 0   ? static_cast<double>(borrowed) / lendable / kueue.weight
                                        : 0;
        }
      } else {
        if (whole[r] > 0) x.dominant = static_cast<double>(c.used) / static_cast<double>(whole[r]);
        if (x.dominant > o.dominant) o.dominant = x.dominant, o.dominant_resource = t.resource(k).label();
      }
      o.resources.push_back(std::move(x));
    }
    if (t.description().rule == berth::quota_rule::cohort) {
      o.dominant = kueue.weighted() / 1000;
      o.dominant_resource = kueue.dominant;
    }
    out.queues.push_back(std::move(o));
  }
  return out;
}

}  // namespace berth_quota
