// berth-topo: what a site's files say about its hardware, and whether it looks right.
//
// Reads any of the files of docs/inputs.md into one graph; shows it as text, JSON and SVG, checks it, converts it, and
// answers how two devices are joined and how much passes between two halves. Described in docs/berth-topo.md.

#include <cstdio>
#include <string>
#include <utility>

#include "berth/io/read_site.hpp"
#include "berth_topo/commands.hpp"
#include "berth_topo/options.hpp"
#include "shared/output.hpp"

namespace {

using namespace berth_topo;

int unreadable(const berth::input_error& e) {
  std::fprintf(stderr, "%s\n", e.message().c_str());
  return exit_unreadable;
}

int print(const std::string& text, int code) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return berth_program::printed("berth-topo", code, exit_unreadable);
}

int print(const text_result& text) {
  return text ? print(*text, exit_clean) : unreadable(text.error());
}

int run(int argc, char** argv) {
  const auto o = parse_options(argc, argv);
  if (!o) return unreadable(o.error());
  if (o->command.empty() || !o->help.empty()) return print(o->help, exit_clean);
  berth::site_options reading;
  reading.merge = o->merge;
  reading.gpu_model = o->gpu_model;
  const auto s = berth::read_site(o->files, reading);
  if (!s) return unreadable(s.error());
  if (o->command == "convert") return print(convert(*o, *s));
  if (o->command == "distance") return print(distance(*o, *s));
  if (o->command == "bisect") return print(bisect(*o, *s));
  if (o->command == "check") {
    const auto all = berth::check_site(*s);
    return print(findings_text(*o, *s, all), all.empty() ? exit_clean : exit_findings);
  }
  if (!o->svg.empty())
    if (const auto written = write_drawings(*o, *s); !written) return unreadable(written.error());
  return print(o->json ? show_json(*o, *s) : show_text(*o, *s), exit_clean);
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv);
}
