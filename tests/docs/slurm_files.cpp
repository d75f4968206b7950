// The code of docs/slurm-files.md, on the files of a small site.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "berth/io/slurm.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "docs/pages.hpp"

TEST_CASE("docs: reading Slurm's files") {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path(), here = fs::path{BERTH_BINARY_DIR} / "docs-slurm-files";
  fs::create_directories(here);
  fs::current_path(here);
  std::ofstream{"topology.conf"} << "SwitchName=leaf0 Nodes=gpu[1-4]\n";
  std::ofstream{"slurm.conf"} << "NodeName=gpu[1-4] CPUs=96 Gres=gpu:8\n";
  std::ofstream{"gres.conf"} << "NodeName=gpu[1-4] Name=gpu File=/dev/nvidia[0-7]\n";
  // [slurm-files]
  berth::slurm_options options;
  options.hardware.shape = berth::catalogue_shape("azure-ndv5");  // for nodes whose hardware no file states
  options.hardware.memory = berth::gibibytes(1900);
  auto spec = berth::read_slurm_files({"topology.conf", "slurm.conf", "gres.conf"}, options);
  if (!spec) std::cerr << spec.error().message() << '\n';
  // [end]
  fs::current_path(before);
  REQUIRE(spec.has_value());
  CHECK(spec->nodes.size() == 4);
  CHECK(spec->shapes[spec->nodes[0].shape.index()].devices == 8);
  CHECK(spec->nodes[0].memory == berth::gibibytes(1900));
}
