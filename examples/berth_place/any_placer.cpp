#include "berth_place/any_placer.hpp"

#include <iterator>

#include "berth/io/text.hpp"

namespace berth_place {

namespace {

constexpr placer_maker makers[] = {make_fewest_domains, make_tightest, make_least_free_first, make_most_free_first,
                                   make_balanced};
static_assert(std::size(makers) == std::size(domain_policies));

template <std::size_t N>
std::size_t index_of(const policy_help (&list)[N], std::string_view name) {
  std::size_t i = 0;
  while (i < N && list[i].name != name) ++i;
  return i;
}

}  // namespace

berth::expected<policy_choice, berth::input_error> parse_policy(std::string_view text) {
  policy_choice out;
  bool has_domain = false, has_node = false;
  for (std::string_view rest = text;;) {
    const std::size_t slash = rest.find('/');
    const std::string_view word = rest.substr(0, slash);
    const std::size_t d = index_of(domain_policies, word), n = index_of(node_policies, word);
    if (d < std::size(domain_policies) && !has_domain && !has_node) {
      out.domain = domain_policies[d].name;
      has_domain = true;
    } else if (n < std::size(node_policies) && !has_node) {
      out.node = node_policies[n].name;
      has_node = true;
    } else {
      std::string known;
      for (const auto& p : domain_policies) known += (known.empty() ? "" : ", ") + std::string{p.name};
      known = "one of " + known + ", and after a slash one of ";
      bool first = true;
      for (const auto& p : node_policies) known += (first ? "" : ", ") + std::string{p.name}, first = false;
      return berth::unexpected{berth::input_error{"--policy", 0, berth::io_text::quoted(text), known}};
    }
    if (slash == std::string_view::npos) return out;
    rest.remove_prefix(slash + 1);
  }
}

std::unique_ptr<any_placer> make_placer(const policy_choice& policy, berth::cluster& c,
                                        const berth::placer_limits& limits) {
  return makers[index_of(domain_policies, policy.domain)](
      static_cast<node_choice>(index_of(node_policies, policy.node)), c, limits);
}

}  // namespace berth_place
