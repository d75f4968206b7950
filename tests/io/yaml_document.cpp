// The tree that YAML and JSON share: types of plain words, lines, documents, aliases, limits, templates.

#include "berth/io/yaml_document.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

/// The documents in JSON's manner, with the line of every value where `lines` is set.
std::string shown(const berth::json_value& v, bool lines) {
  std::string out = lines ? std::to_string(v.line) + "@" : "";
  using kind = berth::json_value::kind;
  if (v.type == kind::array || v.type == kind::object) {
    out += v.type == kind::array ? "[" : "{";
    for (std::size_t i = 0; i < v.items.size(); ++i)
      out += (i == 0 ? "" : " ") + (v.type == kind::object ? v.keys[i] + ":" : "") + shown(v.items[i], lines);
    return out + (v.type == kind::array ? "]" : "}");
  }
  return out + (v.type == kind::real ? "real " + v.text : v.described());
}
std::string parsed(const std::string& text, bool lines = false, const berth::json_limits& limits = {}) {
  const auto d = berth::parse_documents(text, "f", limits);
  if (!d) return d.error().message();
  std::string out;
  for (const auto& v : *d) out += (out.empty() ? "" : " | ") + shown(v, lines);
  return out;
}

}  // namespace

TEST_CASE("Plain words of YAML have types, quoted ones are text") {
  CHECK(parsed("- [1, -2, +3, 1.5, 1e3, .5, true, False, null, ~, yes, 010, 0x1f, 1_000, '1', \"true\", abc, 12ab, -, "
               "99999999999999999999]") ==
        "[[1 -2 3 real 1.5 real 1e3 real .5 true false null null 'yes' '010' '0x1f' '1_000' '1' 'true' 'abc' '12ab' '-' "
        "real "
        "99999999999999999999]]");
  CHECK(parsed("!!str 1") == "'1'");
  CHECK(parsed("!!int \"1\"") == "1");
  CHECK(parsed("!Ref x") == "f:1: found the tag '!Ref', expected YAML without tags of its own");
  CHECK(berth::scalar_text((*berth::parse_documents("1e3", "f"))[0]) == "1e3");
  CHECK(berth::scalar_text((*berth::parse_documents("[7]", "f"))[0].items[0]) == "7");
}

TEST_CASE("Values know their lines, in YAML and in JSON, also in later documents") {
  CHECK(parsed("a:\n  b: 1\n  c:\n  - x\n  - y\n", true) == "1@{a:2@{b:2@1 c:4@[4@'x' 5@'y']}}");
  CHECK(parsed("---\na: 1\n---\n# nothing\n---\n\nb: 2\n", true) == "2@{a:2@1} | 7@{b:7@2}");
  CHECK(parsed("{\"a\":\n [1,\n\n  {\"b\": null}]}\n\n[\n2]", true) == "1@{a:1@[2@1 4@{b:4@null}]} | 6@[7@2]");
  CHECK(parsed("{\"a\": 1}\nx") ==
        "f:2: found 'x' after a JSON value, expected the end of the file, or another object");
  CHECK(parsed("{\"a\": 1}\n\n{\"b\": }").starts_with("f:3: found a JSON syntax error"));
}

TEST_CASE("Aliases and merge keys are expanded, and counted") {
  CHECK(parsed("a: &x [1, 2]\nb: *x\n") == "{a:[1 2] b:[1 2]}");
  CHECK(parsed("d: &d {x: 1, y: 2}\ne: {<<: *d, y: 3}\nf: {<<: [*d, {z: 4}]}\n") ==
        "{d:{x:1 y:2} e:{y:3 x:1} f:{x:1 y:2 z:4}}");
  CHECK(parsed("a: &x [*x]\n") == "f:1: found an alias inside what it names, expected a tree");
  CHECK(parsed("a: *nobody\n").starts_with("f:1: found a YAML syntax error"));
  std::string laughs = "a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string one = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) laughs += (k == 0 ? "" : ", ") + one;
    laughs += "]\n";
  }
  berth::json_limits few;
  few.values = 100'000;
  CHECK(parsed(laughs, false, few).find("found more than 100000 values, aliases expanded") != std::string::npos);
  CHECK(parsed("{\"a\": [1, 2, 3]}", false, {2, {}}) == "f:1: found more than 2 values, expected a smaller document");
}

TEST_CASE("What is no plain document is refused with its line") {
  CHECK(parsed("") == "f: found an empty file, expected YAML or JSON");
  CHECK(parsed("# only words\n") == "f: found an empty file, expected YAML or JSON");
  CHECK(parsed("a: 1\na: 2\n") == "f:2: found key 'a' twice in one mapping, expected each key once");
  CHECK(parsed("? [a]\n: 1\n") == "f:1: found a list as a key, expected a word");
  CHECK(parsed("a: b: c\n").starts_with("f:1: found a YAML syntax error"));
  CHECK(parsed("x: 1\ny: \"\xFF\"\n") == "f:2: found bytes that are no UTF-8, expected YAML text");
  CHECK(parsed(std::string{"x: 1\ny: \x04 2\n"}) == "f:2: found the control character '\\x04', expected YAML text");
  CHECK(parsed(std::string(500, '[') + std::string(500, ']')).find("nesting deeper than 64") != std::string::npos);
  CHECK(parsed("- " + std::string(500, '[') + std::string(500, ']')).find("nesting deeper than 64") !=
        std::string::npos);
  for (const char* t :
       {"a: {{ .x }}\n", "a: x-{{ .x }}\n", "{{- if .Values.on }}\na: 1\n{{- end }}\n", "a:\n  {{ toYaml .x }}\n"}) {
    CAPTURE(t);
    CHECK(parsed(t).find("found a Go template ({{ … }})") != std::string::npos);
  }
  CHECK(parsed("a: 'x {{ y }}'\nb: |\n  {{ z }}\n") == "{a:'x {{ y }}' b:'{{ z }}\\x0a'}");
}

TEST_CASE("A sign that no value begins with is refused, wherever a document begins") {
  CHECK(parsed(", a") == "f:1: found a sign that no value begins with, expected a value");
  CHECK(parsed("a: 1\n---\n, b\n") == "f:3: found a sign that no value begins with, expected a value");
  CHECK(parsed("a: 1\n---\n---\nb: 2\n") == parsed("a: 1\n---\nb: 2\n"));
}

TEST_CASE("Skipped keys stay without their values") {
  berth::json_limits some;
  some.skip = {"images"};
  CHECK(parsed(R"({"a": 1, "images": [{"names": ["x", {"y": [1]}]}, 2], "b": {"images": 3, "c": 4}})", false, some) ==
        "{a:1 images:null b:{images:null c:4}}");
}
