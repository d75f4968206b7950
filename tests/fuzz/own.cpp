// Our own files: clusters with graphs, occupancy, host lists. What is read is written and read again as the same.

#include "berth/io/job_spec.hpp"
#include "berth/io/merge/site_json.hpp"
#include "berth/io/occupied.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > fuzz::most_bytes) return 0;
  const auto file = fuzz::text_of(data, size);
  static_cast<void>(fuzz::good(berth::parse_gang(file.text, "gang")));
  static_cast<void>(fuzz::good(berth::read_occupancy(file, 2000)));
  const auto s = berth::read_site_json(file, berth::catalogue_shape, 2000, 20000);
  if (!fuzz::good(s)) return 0;
  fuzz::check(berth::report_of_site(*s, "input"));
  for (const auto& n : s->spec.nodes)
    for (const char c : n.name)
      if (c == ',' || c == '[' || c == ']' || c == ' ') return 0;  // no host list can hold such a name
  const std::string text = berth::write_site_json(*s);
  const auto again = berth::read_site_json({"again", text}, berth::catalogue_shape, 2000, 20000);
  if (!again) {
    std::fprintf(stderr, "%s\n", again.error().message().c_str());
    fuzz::fail("what was written is not read");
  }
  if (berth::write_site_json(*again) != text) fuzz::fail("what was read again is not the same");
  return 0;
}
