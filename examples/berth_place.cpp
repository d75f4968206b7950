// berth-place: which GPUs of a site's cluster a gang gets, or why none.
//
// Reads a cluster (Slurm's files, our JSON or a preset), who holds what on it, and one gang; asks the placer once;
// shows the answer as text, JSON and SVG. Described in docs/berth-place.md.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/resolve_spread.hpp"
#include "berth/solver/explain.hpp"
#include "berth/solver/explain_text.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth_place/answer.hpp"
#include "berth_place/any_placer.hpp"
#include "berth_place/options.hpp"
#include "berth_place/site.hpp"
#include "shared/output.hpp"

namespace {

using namespace berth_place;

int bad_input(const berth::input_error& e) {
  std::fprintf(stderr, "%s\n", e.message().c_str());
  return exit_bad_input;
}

// Whether a group needs more tasks than the cluster could ever hold: such a gang is refused without preparing memory
// for all of its tasks.
bool exceeds_cluster(const berth::cluster& c, const berth::gang& g, berth::decision& d) {
  for (std::uint32_t i = 0; i < g.groups.size(); ++i) {
    const auto& t = g.groups[i];
    if (!c.is_valid(t.shape)) continue;
    const berth::live_shape* s = c.counters(t.shape);
    if (s == nullptr || c.potential(*s, 0) >= t.minimum) continue;
    d.result = berth::verdict::never;
    d.why.group = i;
    d.why.needs = t.minimum;
    return true;
  }
  return false;
}

template <class F>
std::uint64_t nanoseconds_of(F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count());
}

int run(int argc, char** argv) {
  const auto o = parse_options(argc, argv);
  if (!o) return bad_input(o.error());
  if (o->what == action::show_text) {
    std::fputs(o->text.c_str(), stdout);
    return exit_placed;
  }
  auto request = read_job(*o);
  if (!request) return bad_input(request.error());
  std::size_t tasks = 0;
  for (const auto& g : request->job.groups) tasks += g.wanted;
  auto s = load_site(*o, *request);
  if (!s) return bad_input(s.error());
  for (auto& note : request->notes) s->notes.push_back(std::move(note));
  // Files may call a level by other names too.
  for (const auto& [alias, level] : s->level_aliases) {
    auto& job = request->job;
    std::vector<std::string*> words{&job.level, &job.prefer};
    if (job.segments) words.push_back(&job.segments->level);
    for (auto& g : job.groups) {
      words.insert(words.end(), {&g.own.within, &g.own.prefer});
      if (g.own.segments) words.push_back(&g.own.segments->level);
      for (auto& rule : g.spread) words.push_back(&rule.level);
    }
    for (auto* w : words)
      if (*w == alias) *w = level;
  }

  std::vector<std::string> models;
  for (const auto& m : berth::catalogue::gpu_models) models.emplace_back(m.id);
  for (auto& g : request->job.groups) {
    const auto user = s->users.id_of(g.gpu_user);
    if (!user) return bad_input({request->source, 0, "more than 65,535 users", "fewer"});
    g.gpu_user_id = *user;
  }
  auto job = berth::resolve_spread_job(request->job, *s->live, s->running, models, request->source, &s->notes,
                                       ways_to_state());
  if (!job) return bad_input(job.error());
  answer a;
  a.job = request->job;
  a.request = job->ask;

  std::unique_ptr<any_placer> place;
  berth::placer_limits limits{tasks, a.request.groups.size(), o->search_steps};
  // Asked twice: the first call brings the index up to date, what is timed is a warm decision.
  if (exceeds_cluster(*s->live, a.request, a.decision)) {
    a.nanoseconds = nanoseconds_of([&] { static_cast<void>(exceeds_cluster(*s->live, a.request, a.decision)); });
  } else {
    place = make_placer(o->policy, *s->live, limits);
    // What has no room even without its rules is refused, and explained, as any other gang.
    a.decision = place->place(a.request);
    const bool room = a.decision.result == berth::verdict::placed || a.decision.result == berth::verdict::gave_up;
    if (job->spread && room) {
      a.spread = ask_spread(*s, *job, o->policy, limits, *place, a.nanoseconds);
      a.decision = as_decision(*s, *a.spread);
    } else {
      a.nanoseconds = nanoseconds_of([&] { a.decision = place->place(a.request); });
    }
  }
  work_out_reservations(*s, a);
  limits.tasks = 1;
  if (a.decision.result != berth::verdict::placed && !a.refused_by_rules())
    a.explanation = berth::explain(*s->live, a.request, a.decision, limits);

  switch (a.result()) {
    case berth::verdict::invalid:
    case berth::verdict::capacity_exhausted:
      return bad_input({request->source, 0, "a gang that cannot be asked for",
                        berth::explanation_sentences(*a.explanation, a.request, s->spec).front()});
    default:
      break;
  }
  const berth::floor_plan plan = make_plan(*s, a);
  const std::string shown = o->json ? as_json(*o, *s, a) : as_text(*o, *s, a, plan);
  if (!o->svg.empty() && !berth_program::write_file(o->svg, as_svg(plan)))
    return bad_input({"--svg", 0, "'" + o->svg + "', which cannot be written", "a path where a file can be written"});
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  const auto code = [](berth::verdict v) {
    switch (v) {
      case berth::verdict::placed:
        return exit_placed;
      case berth::verdict::never:
        return exit_never;
      case berth::verdict::gave_up:
        return exit_gave_up;
      default:
        return exit_not_now;
    }
  };
  return code(a.result());
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run(argc, argv);
  return berth_program::printed("berth-place", code, exit_bad_input);
}
