// JSON text as a tree: values with their lines, what is skipped, and messages whose lines and words are those of the
// parser although most of the text never reaches it.
#include "berth/io/json_document.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

namespace {

std::string dump(const berth::json_value& v) {
  std::string out = std::to_string(v.line) + ":";
  if (v.type != berth::json_value::kind::object && v.type != berth::json_value::kind::array) return out + v.described();
  const bool object = v.type == berth::json_value::kind::object;
  out += object ? "{" : "[";
  for (std::size_t i = 0; i < v.items.size(); ++i)
    out += (i == 0 ? "" : " ") + (object ? v.keys[i] + "=" : std::string{}) + dump(v.items[i]);
  return out + (object ? "}" : "]");
}
std::string read(const std::string& text) {
  berth::json_limits limits;
  limits.values = 100;
  limits.skip = {"skip", "more"};
  const auto v = berth::parse_json(text, "f", limits);
  return v ? dump(*v) : v.error().message();
}
std::string repeated(std::size_t n, const std::string& s) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += s;
  return out;
}

}  // namespace

TEST_SUITE("io/json_document") {
  TEST_CASE("values, their lines, and what is wrong with a text") {
    struct row {
      std::string text, expected;
    };
    const row rows[] = {
        {"{\"a\": \"b\"}", "1:{a=1:'b'}"},
        {"{\"a\": \"b\",\n\n  \"c\": \"d\" ,\"e\":\"\"\n}\n", "1:{a=1:'b' c=3:'d' e=3:''}"},
        {"{\n\"a\": \"x\",\n\"b\":\n[1,\n 2\n,\n3\n\n],\n\"c\": \"y\"\n}", "1:{a=2:'x' b=3:[4:1 5:2 7:3] c=10:'y'}"},
        {"{\"a\": \"q\\\"\\u00e4\", \"b\\n\": \"z\", \"c\": \"w\"}", "1:{a=1:'q\"\xC3\xA4' b\n=1:'z' c=1:'w'}"},
        {"{\"a\": {\"b\": \"c\", \"d\": {\"e\": \"f\"}, \"g\": \"h\"}, \"i\": null, \"j\": true}",
         "1:{a=1:{b=1:'c' d=1:{e=1:'f'} g=1:'h'} i=1:null j=1:true}"},
        // Skipped values: strings, lists and objects from the text itself, others by the parser.
        {"{\"a\": \"b\", \"skip\": {\"x\": [1, \"}\\\"\"],\n\"skip\": []},\n\"c\": \"d\", \"more\": \"\\\\\", \"e\": "
         "1}",
         "1:{a=1:'b' skip=1:null c=3:'d' more=3:null e=3:1}"},
        {"{\"skip\": 7,\n\"more\": [\n],\n\"b\": 1\n}", "1:{skip=1:null more=2:null b=4:1}"},
        {"{\"skip\": " + repeated(70, "[") + repeated(70, "]") + "}",
         "f:1: found nesting deeper than 64, expected a flatter document"},
        {"{\"skip\": [}", "f:1: found a JSON syntax error (unexpected '}'), expected '[', '{', or a literal"},
        {"{\"a\": \"b\",\n\"skip\": [\"",
         "f:2: found a JSON syntax error (invalid string: missing closing quote; last "
         "read: '\"'), expected JSON"},
        // What ends early, or is out of place, behind members that were taken from the text.
        {"{\"a\": \"b\",\n\"c\": \"d\"", "f:2: found a JSON syntax error (unexpected end of input), expected '}'"},
        {"{\"a\": \"b\"\n\"c\": \"d\"}", "f:2: found a JSON syntax error (unexpected string literal), expected '}'"},
        {"{\"a\": \"b\",\n\"c\": \"d\",\n}",
         "f:3: found a JSON syntax error (unexpected '}'), expected string literal"},
        {"{\"a\": \"b\",\n\"c\": \"d\ne\"}",
         "f:3: found a JSON syntax error (invalid string: control character U+000A (LF) must be escaped to \\u000A or "
         "\\n; last read: '\"d<U+000A>'), expected JSON"},
        {"{\"a\": \"b\",\n\"c\": \"d\", \"a\": \"e\"}",
         "f:2: found key 'a' twice in one object, expected each key once"},
        {"{\"a\": \"b\", \"skip\": 1,\n\"skip\": \"\"}",
         "f:2: found key 'skip' twice in one object, expected each key once"},
        {"[" + repeated(100, "{\"a\":\"b\"},") + "1]", "f:1: found more than 100 values, expected a smaller document"},
        {"{\"a\": 18446744073709551615}", "f:1: found number 18446744073709551615, expected a number below 2^63"},
    };
    for (const auto& r : rows) CHECK(read(r.text) == r.expected);
  }
  TEST_CASE("an object has at most a thousand keys") {
    std::string text = "{";
    for (std::size_t i = 0; i < 1001; ++i) text += "\"k" + std::to_string(i) + "\": \"v\",\n";
    text += "\"z\": 1}";
    const auto v = berth::parse_json(text, "f");
    REQUIRE(!v);
    CHECK(v.error().message() == "f:1001: found an object with more than 1000 keys, expected an array");
  }
  TEST_CASE("objects that follow one another keep counting lines") {
    const auto v = berth::parse_json_stream("{\"a\": \"b\"}\n\n{\"c\":\n\"d\"} [1]", "f");
    REQUIRE(v);
    REQUIRE(v->size() == 3);
    CHECK(dump((*v)[1]) == "3:{c=3:'d'}");
    CHECK(dump((*v)[2]) == "4:[4:1]");
    const auto bad = berth::parse_json_stream("{\"a\": \"b\"}\n\n{\"c\":\n\"d\" 1}", "f");
    REQUIRE(!bad);
    CHECK(bad.error().message() == "f:4: found a JSON syntax error (unexpected number literal), expected '}'");
    CHECK(berth::parse_json_stream("{}\n\n x", "f").error().message() ==
          "f:3: found 'x' after a JSON value, expected the end of the file, or another object");
  }
}
