#pragma once
/// \file
/// XML documents with the line of every element. Needs pugixml.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/io/close_word.hpp"
#include "berth/io/input_place.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

namespace berth::inside_text {

/// Deepest element that is read; real files of topologies stay below 30.
inline constexpr std::size_t max_xml_depth = 128;

/// A parsed document.
class xml_text {
 public:
  /// Errors: no well-formed XML, more than `max_elements` tags, elements more than `max_xml_depth` deep. O(length).
  [[nodiscard]] static expected<xml_text, input_error> parse(const named_text& in, std::size_t max_elements) {
    const auto tags = static_cast<std::size_t>(std::count(in.text.begin(), in.text.end(), '<'));
    if (tags > max_elements)
      return unexpected{
          input_error{in.name, 1, std::to_string(tags) + " tags", "at most " + std::to_string(max_elements)}};
    xml_text out;
    out.name_ = in.name;
    for (std::size_t i = 0; i < in.text.size(); ++i)
      if (in.text[i] == '\n') out.line_ends_.push_back(i);
    out.doc_ = std::make_unique<pugi::xml_document>();
    const auto r = out.doc_->load_buffer(in.text.data(), in.text.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!r)
      return unexpected{input_error{in.name,
                                    out.line_at(static_cast<std::size_t>(std::max<std::ptrdiff_t>(r.offset, 0))),
                                    "no well-formed XML (" + std::string{r.description()} + ")", "an XML document"}};
    // Depth first without recursion; afterwards, recursion down the tree is safe.
    std::size_t depth = 0;
    for (pugi::xml_node v = out.doc_->first_child(); v;) {
      if (v.first_child()) {
        v = v.first_child();
        if (++depth > max_xml_depth)
          return unexpected{input_error{in.name, out.line(v),
                                        "elements nested more than " + std::to_string(max_xml_depth) + " deep",
                                        "a flatter document"}};
        continue;
      }
      while (v && !v.next_sibling()) {
        v = v.parent();
        if (depth == 0 || v == *out.doc_) {
          v = pugi::xml_node{};
          break;
        }
        --depth;
      }
      if (v) v = v.next_sibling();
    }
    return out;
  }

  [[nodiscard]] const pugi::xml_document& document() const noexcept { return *doc_; }
  /// Line of an element, 1-based.
  [[nodiscard]] std::size_t line(pugi::xml_node v) const {
    return line_at(static_cast<std::size_t>(std::max<std::ptrdiff_t>(v.offset_debug(), 0)));
  }
  [[nodiscard]] input_place place(pugi::xml_node v) const { return {name_, line(v)}; }

 private:
  xml_text() = default;
  [[nodiscard]] std::size_t line_at(std::size_t offset) const {
    return 1 + static_cast<std::size_t>(std::lower_bound(line_ends_.begin(), line_ends_.end(), offset) -
                                        line_ends_.begin());
  }

  std::string name_;
  std::vector<std::size_t> line_ends_;
  std::unique_ptr<pugi::xml_document> doc_;
};

/// An attribute's text; "" when it is missing.
[[nodiscard]] inline std::string_view attribute(pugi::xml_node v, const char* name) {
  return v.attribute(name).value();
}

/// An element below `v`, or an attribute of it, that is not among those known but is one letter or two away from one:
/// a fault, as leaving it out would change what the file says. `""` for none. Others are for whoever reads to note.
[[nodiscard]] inline std::optional<input_error> misspelt(const xml_text& xml, pugi::xml_node v,
                                                         std::string_view elements, std::string_view attributes) {
  for (const auto a : v.attributes()) {
    if (io_text::is_word_of(a.name(), attributes)) continue;
    if (const auto meant = io_text::close_to(a.name(), attributes); !meant.empty())
      return xml.place(v).error("attribute " + io_text::quoted(a.name()) + " of <" + v.name() + ">",
                                std::string{meant});
  }
  for (const auto c : v.children()) {
    if (c.type() != pugi::node_element || io_text::is_word_of(c.name(), elements)) continue;
    if (const auto meant = io_text::close_to(c.name(), elements); !meant.empty())
      return xml.place(c).error("element " + io_text::quoted(c.name()) + " under <" + v.name() + ">",
                                "<" + std::string{meant} + ">");
  }
  return std::nullopt;
}

}  // namespace berth::inside_text
