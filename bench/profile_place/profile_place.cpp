/// \file
/// The program that `profile_place.sh` watches: one case of `bench_place`, a given number of times.
///
///   profile_place CASE GANG GPUS ITERATIONS      CASE: whole_nodes, single_gpu, no_fit, constrained, with or without _churn

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bench_place/fixture.hpp"

namespace {

constexpr std::string_view case_names[] = {"whole_nodes", "single_gpu", "no_fit", "constrained"};

/// One gang placed, committed and released again, or another one in its stead. Not inlined: its cost is the answer.
[[gnu::noinline]] bool one(bench::fixture& f, bool churn, bool fits) {
  const berth::decision d = f.place(f.request);
  if (static_cast<bool>(d) != fits) return false;
  if (!d) return true;
  const berth::job_key key{f.next_key++};
  if (!f.c.commit(key, d.where)) return false;
  if (!churn) return f.c.release(key).has_value();
  const std::size_t i = f.random.below(f.standing.size());
  if (!f.c.release(f.standing[i])) return false;
  f.standing[i] = key;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fputs("usage: profile_place CASE GANG GPUS ITERATIONS\n", stderr), 2;
  std::string name = argv[1];
  const bool churn = name.ends_with("_churn");
  if (churn) name.resize(name.size() - 6);
  std::uint8_t what = 0;
  while (what < 4 && case_names[what] != name) ++what;
  if (what == 4) return std::fprintf(stderr, "no such case: %s\n", argv[1]), 2;
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10)); };
  const auto scenario = static_cast<bench::scenario>(what);
  bench::fixture f{scenario, number(3) / 8, number(2)};
  for (std::uint32_t i = number(4) + 1; i > 0; --i)
    if (!one(f, churn, scenario != bench::scenario::no_fit)) return std::fputs("unexpected answer\n", stderr), 1;
  return 0;
}
