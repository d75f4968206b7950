#pragma once
// What the tests of readers of queues share.

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "berth/io/quota/read_queues.hpp"
#include "berth/quota/queue_tree.hpp"

namespace queue_tests {

using namespace berth;

inline named_text sample(const std::string& name) {
  auto t = load_text_file(std::string{BERTH_SOURCE_DIR} + "/tests/quota/data/" + name);
  REQUIRE_MESSAGE(t, name);
  return {name, *t};
}
inline queue_tree tree_of(const queue_file& f) {
  auto t = queue_tree::build(f.tree);
  REQUIRE_MESSAGE(t, (t ? "" : t.error().message()));
  return std::move(*t);
}
inline queue_file read(const named_text& t) {
  auto f = read_queues(t);
  REQUIRE_MESSAGE(f, (f ? "" : f.error().message()));
  return std::move(*f);
}
struct bad_case {
  const char *text, *says;
};
inline std::string fault(const std::string& text) {
  auto f = read_queues({"f", text});
  if (!f) return f.error().message();
  auto t = queue_tree::build(f->tree);
  return t ? "read" : t.error().message();
}
inline std::string kueue(const std::string& kind, const std::string& name, const std::string& spec) {
  return "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: " + spec +
         "\n";
}
inline std::string gpus(const std::string& numbers) {
  return "resourceGroups: [{coveredResources: [gpu], flavors: [{name: h100, resources: [{name: gpu, " + numbers +
         "}]}]}]";
}

}  // namespace queue_tests
