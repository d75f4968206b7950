// What README.md shows of berth-place: the program of this build, with the arguments of examples/run.sh.
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>

#include "docs/pages.hpp"

namespace {

// How long a decision took differs from run to run.
std::string without_time(std::string text) {
  const std::string words = "Decided in ";
  const std::size_t at = text.find(words);
  if (at == std::string::npos) return text;
  return text.replace(at, text.find('.', at) - at, words + "…");
}

}  // namespace

TEST_CASE("docs: what README.md shows of berth-place") {
  const std::string program = std::string{BERTH_BINARY_DIR} + "/examples/berth-place";
  if (!std::filesystem::exists(program)) {
    MESSAGE("not compared: this build has no examples");
    return;
  }
  const std::string command = "'" + program +
                              "' --cluster examples/data/azure-tree.topology.conf --node-shape azure-ndv5 --occupied "
                              "examples/data/azure-tree.occupied --gang tasks=8,gpus=8";
  std::FILE* out = popen(command.c_str(), "r");
  REQUIRE(out != nullptr);
  std::string text;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, out)) != 0;) text.append(buffer, n);
  REQUIRE(pclose(out) == 0);
  berth_docs::check_output("berth-place", without_time(text));
}
