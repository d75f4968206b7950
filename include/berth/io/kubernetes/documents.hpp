#pragma once
/// \file
/// The Kubernetes objects of one file: every document of a YAML stream, every item of a `kind: List`. Readers of single
/// kinds (nodes, topologies, jobs) work on this list. Needs yaml-cpp and nlohmann-json.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/text_file.hpp"
#include "berth/io/yaml_document.hpp"

namespace berth {

/// One object of a file. Points into its `kube_documents`.
struct kube_object {
  const json_value* value = nullptr;  ///< a mapping
  std::string group;                  ///< of apiVersion: "kueue.x-k8s.io"; "" for the core group and where not stated
  std::string version;                ///< "v1beta1"
  std::string kind;                   ///< "" where the document says none: it is no Kubernetes object
  std::string name;                   ///< metadata.name; "" where not stated

  /// A member of `metadata` such as labels; null when there is none or it is no mapping.
  [[nodiscard]] const json_value* metadata(std::string_view key) const noexcept {
    const json_value* m = value->find("metadata");
    const json_value* v = m == nullptr ? nullptr : m->find(key);
    return v != nullptr && v->type == json_value::kind::object ? v : nullptr;
  }
  /// Its namespace; "default" where it says none.
  [[nodiscard]] std::string space() const {
    const json_value* m = value->find("metadata");
    const json_value* v = m == nullptr ? nullptr : m->find("namespace");
    return v == nullptr || v->type != json_value::kind::string || v->text.empty() ? "default" : v->text;
  }
  /// `kind name` as a message names it.
  [[nodiscard]] std::string described() const { return kind + (name.empty() ? "" : " " + io_text::quoted(name)); }
};

/// The objects of one file. Moving it keeps what they point to.
struct kube_documents {
  std::string source;
  std::vector<json_value> roots;
  std::vector<kube_object> objects;  ///< in the order of the file, lists unpacked
};

namespace kube_detail {

// Depth is bounded by that of the document.
[[nodiscard]] inline expected<void, input_error> unpack(const json_value& v, const std::string& list_kind,
                                                        const kube_reader& in, std::vector<kube_object>& out) {
  if (v.type != json_value::kind::object) return in.error(v, v.described(), "a Kubernetes object");
  kube_object o;
  o.value = &v;
  const auto api = in.optional_text(v, "apiVersion");
  const auto kind = in.optional_text(v, "kind");
  const auto metadata = in.optional_member(v, "metadata", json_value::kind::object);
  if (!api) return unexpected{api.error()};
  if (!kind) return unexpected{kind.error()};
  if (!metadata) return unexpected{metadata.error()};
  if (*api) {
    const std::size_t slash = (*api)->find('/');
    if (slash != std::string::npos) o.group = (*api)->substr(0, slash);
    o.version = slash == std::string::npos ? **api : (*api)->substr(slash + 1);
  }
  o.kind = *kind ? **kind : list_kind;
  if (*metadata != nullptr) {
    const auto name = in.optional_text(**metadata, "name");
    if (!name) return unexpected{name.error()};
    if (*name) o.name = **name;
    if (yaml_detail::is_template(o.name))
      return in.error(**metadata, "name: " + io_text::quoted(o.name) + ", a Go template",
                      yaml_detail::template_expected);
  }
  const json_value* items = v.find("items");
  if (o.kind.ends_with("List") && items != nullptr) {
    if (items->type == json_value::kind::null) return {};
    if (items->type != json_value::kind::array) return in.error(*items, "items: " + items->described(), "a list");
    const std::string of = o.kind.substr(0, o.kind.size() - 4);
    for (const auto& i : items->items)
      if (auto done = unpack(i, of, in, out); !done) return done;
    return {};
  }
  out.push_back(std::move(o));
  return {};
}

}  // namespace kube_detail

/// The objects of a file, JSON or YAML. A document that is a bare list is unpacked like `kind: List`; one without
/// `kind` stays in the list with an empty kind. The long lists `managedFields` and `images` of JSON are left out of the
/// tree.
[[nodiscard]] inline expected<kube_documents, input_error> read_kube_documents(const named_text& file) {
  json_limits limits;
  limits.skip = {"managedFields",      "images",       "nodeInfo",        "daemonEndpoints",   "lastHeartbeatTime",
                 "lastTransitionTime", "volumesInUse", "volumesAttached", "containerStatuses", "message"};
  auto roots = parse_documents(file.text, file.name, limits);
  if (!roots) return unexpected{std::move(roots).error()};
  kube_documents out{file.name, std::move(*roots), {}};
  const kube_reader in{file.name};
  for (const auto& r : out.roots) {
    if (r.type == json_value::kind::array) {
      for (const auto& i : r.items)
        if (auto done = kube_detail::unpack(i, "", in, out.objects); !done) return unexpected{done.error()};
    } else if (auto done = kube_detail::unpack(r, "", in, out.objects); !done) {
      return unexpected{done.error()};
    }
  }
  return out;
}

}  // namespace berth
