#pragma once
// What the fuzz targets share. A target hands the bytes to every reader of its family: first with what a person would
// give, then forced, whether the text looks like theirs or not. A reader must give a report or an error that names what
// it found, never crash, hang or exhaust memory.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text_file.hpp"

namespace fuzz {

inline constexpr std::size_t most_bytes = std::size_t{1} << 16;

inline berth::named_text text_of(const std::uint8_t* data, std::size_t size) {
  return {"input", std::string(reinterpret_cast<const char*>(data), size)};
}

// Small limits keep a round short; the real ones work the same way.
inline berth::reader_options limits() {
  berth::reader_options o;
  o.max_machines = 2000;
  o.max_parts = 20000;
  o.load = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
  return o;
}

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

// An error names its file and what was found.
template <class T>
bool good(const berth::expected<T, berth::input_error>& r) {
  if (r) return true;
  if (r.error().source.empty() || r.error().found.empty()) fail("an error without a source or a finding");
  return false;
}

// What a report says must hang together.
inline void check(const berth::site_report& r) {
  for (const auto& m : r.machines) {
    if (!m.inside) continue;
    const auto gpus = berth::parts_of(*m.inside, berth::vertex_kind::gpu);
    if (!gpus.empty() && gpus.back() != gpus.size() - 1) fail("GPUs are not the first vertices of an inside");
  }
  for (const auto& t : r.topologies) {
    for (const auto& m : t.members)
      if (m.domain >= t.domains.size()) fail("a machine in a domain that does not exist");
    for (const auto& d : t.domains)
      if (d.parent != berth::domain_declaration::no_parent && d.parent >= t.domains.size())
        fail("a domain under one that does not exist");
  }
  for (const auto& f : r.fabrics)
    for (const auto v : f.not_hosts)
      if (v >= boost::num_vertices(f.graph)) fail("a part of a fabric that does not exist");
}

template <class Read>
void run(Read read, const berth::named_text& file, const berth::reader_options& options) {
  const auto r = read(file, options);
  if (good(r)) check(*r);
}
template <class Read>
void run_jobs(Read read, const berth::named_text& file, const berth::reader_options& options) {
  const auto r = read(file, options);
  if (!good(r)) return;
  for (const auto& job : *r)
    if (berth::fault_of(job)) fail("a job that contradicts itself");
}

// The readers of one family on one input: those that it looks made for, and now and then the others too.
class family {
 public:
  family(const std::uint8_t* data, std::size_t size, std::size_t others)
      : file{text_of(data, size < most_bytes ? size : most_bytes)}, options{limits()}, all_{size % others == 0} {}
  template <class Read>
  void operator()(bool looks, Read reader) const {
    if (looks || all_) run(reader, file, options);
  }
  template <class Read>
  void jobs(bool looks, Read reader) const {
    if (looks || all_) run_jobs(reader, file, options);
  }
  berth::named_text file;
  berth::reader_options options;

 private:
  bool all_;
};

}  // namespace fuzz
