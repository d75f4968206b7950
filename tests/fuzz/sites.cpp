// Several files of any kind, merged: parts of the input are files of their own.

#include <string_view>

#include "berth/io/merge/site_check.hpp"
#include "berth/io/merge/site_json.hpp"
#include "berth/io/read_site.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > fuzz::most_bytes) return 0;
  // A line "%%" ends a file.
  const std::string all = fuzz::text_of(data, size).text;
  std::vector<berth::site_input> files;
  for (std::string_view rest = all; files.size() < 6;) {
    const std::size_t end = rest.find("\n%%\n");
    const std::string name = "file" + std::to_string(files.size());
    files.push_back({{name, std::string{rest.substr(0, end)}}, files.size() == 3 ? "n[1-2]" : ""});
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 4);
  }
  berth::site_options options;
  options.merge.max_nodes = 500;
  options.max_parts = 600;
  options.load = fuzz::limits().load;
  const auto s = berth::read_site(files, options);
  if (!fuzz::good(s)) return 0;
  if (s->spec.nodes.size() != s->net.nodes.size() || s->spec.tree.node_count() != s->spec.nodes.size())
    fuzz::fail("a site whose parts differ in size");
  for (std::uint32_t n = 0; n < s->spec.nodes.size(); ++n)
    if (s->spec.nodes[n].shape.index() >= s->spec.shapes.size() || s->net.shape_of[n].index() >= s->net.shapes.size())
      fuzz::fail("a machine of no kind");
  static_cast<void>(berth::check_site(*s));
  return 0;
}
