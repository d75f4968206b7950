#include "berth/io/slurm_lines.hpp"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "samples.hpp"

namespace {

using samples::contains;

std::vector<berth::conf_line> lines(std::string_view text) {
  auto r = berth::read_conf_lines("f.conf", text, nullptr);
  REQUIRE_MESSAGE(r.has_value(), samples::failure(r));
  return *r;
}
std::string fault(std::string_view text) {
  const auto r = berth::read_conf_lines("f.conf", text, nullptr);
  REQUIRE(!r.has_value());
  return r.error().message();
}

TEST_SUITE("io/slurm_lines") {
  TEST_CASE("conf lines: pairs, blanks around =, quotes, comments, blank lines, line numbers") {
    const auto l = lines("# head\n\nA=1 B = two\tC=\"x y\"  # tail\n  \n\tD=4");
    REQUIRE(l.size() == 2);
    CHECK(l[0].line == 3);
    REQUIRE(l[0].pairs.size() == 3);
    CHECK(*l[0].find("b") == "two");
    CHECK(*l[0].find("C") == "x y");
    CHECK(l[1].line == 5);
    CHECK(*l[1].find("d") == "4");
    CHECK(l[1].find("A") == nullptr);
  }
  TEST_CASE("conf lines: CRLF, no newline at the end, byte order mark") {
    const auto l = lines(
        "\xEF\xBB\xBF"
        "A=1\r\nB=2 \r\n\r\nC=3");
    REQUIRE(l.size() == 3);
    CHECK(*l[0].find("A") == "1");
    CHECK(*l[1].find("B") == "2");
    CHECK(*l[2].find("C") == "3");
    CHECK(l[2].line == 4);
  }
  TEST_CASE("conf lines: a backslash continues a line, also before CRLF, blanks and a comment") {
    const auto l = lines("A=1 \\\n  B=2 \\  \r\n  C=3 \\ # why\n  D=4\nE=5");
    REQUIRE(l.size() == 2);
    CHECK(l[0].pairs.size() == 4);
    CHECK(l[0].line == 1);
    CHECK(l[1].line == 5);
    // Joined without a blank, as Slurm does, and a backslash inside a comment continues nothing.
    CHECK(*lines("Nodes=a,\\\nb")[0].find("Nodes") == "a,b");
    CHECK(lines("# x \\\nA=1").size() == 1);
    CHECK(lines("\\\nA=1").size() == 1);
    CHECK(*lines("A=1 \\")[0].find("A") == "1");
  }
  TEST_CASE("conf lines: a # in quotes or after a backslash is text") {
    CHECK(*lines("Reason=\"ticket #12\" B=1")[0].find("Reason") == "ticket #12");
    CHECK(*lines("A=x\\#y")[0].find("A") == "x#y");
  }
  TEST_CASE("conf lines: what is no line of pairs is named with its place") {
    CHECK(fault("A=1\nhello world") == "f.conf:2: found 'hello' without '=', expected Key=value");
    CHECK(contains(fault("A="), "without a value"));
    CHECK(contains(fault("=x"), "without '='"));
    CHECK(contains(fault("A=\"x"), "without its end"));
    CHECK(contains(fault("A=\"x\"y"), "after a closing quote"));
    CHECK(contains(fault("A=1 a=2"), "twice on one line"));
    CHECK(contains(fault("A+=1"), "key 'A+'"));
    CHECK(contains(fault("A=\x01"), "control character"));
    CHECK(contains(fault("A=\xFF\xFE"), "UTF-8"));
    CHECK(contains(fault(std::string_view{"A=1\0B=2", 7}), "control character"));
  }
  TEST_CASE("conf lines: includes are followed beside the file, in place, and report their own lines") {
    std::map<std::string, std::string> files{{"etc/nodes/a.conf", "B=2\ninclude deeper/b.conf\n"},
                                             {"etc/nodes/deeper/b.conf", "C=3"},
                                             {"/abs.conf", "bad line"}};
    const berth::text_loader load = [&](const std::string& p) -> std::optional<std::string> {
      const auto it = files.find(p);
      if (it == files.end()) return std::nullopt;
      return it->second;
    };
    const auto l = berth::read_conf_lines("etc/slurm.conf", "A=1\nInclude nodes/a.conf\nD=4", load);
    REQUIRE_MESSAGE(l.has_value(), samples::failure(l));
    REQUIRE(l->size() == 4);
    CHECK((*l)[2].source == "etc/nodes/deeper/b.conf");
    CHECK((*l)[2].line == 1);
    CHECK((*l)[3].line == 3);
    CHECK(contains(samples::failure(berth::read_conf_lines("x", "include /abs.conf", load)), "/abs.conf:1"));
    CHECK(contains(samples::failure(berth::read_conf_lines("x", "A=1\ninclude none.conf", load)),
                   "x:2: found include of 'none.conf', which cannot be read"));
    CHECK(contains(samples::failure(berth::read_conf_lines("x", "include /abs.conf", nullptr)), "cannot be read"));
  }
  TEST_CASE("conf lines: circular, deep and endless includes end in an error") {
    const berth::text_loader self = [](const std::string&) { return std::optional<std::string>{"include self.conf"}; };
    CHECK(contains(samples::failure(berth::read_conf_lines("x", "include self.conf", self)), "includes this file"));
    const berth::text_loader deep = [](const std::string& p) {
      return std::optional<std::string>{"include " + p + "x"};
    };
    CHECK(contains(samples::failure(berth::read_conf_lines("x", "include d", deep)), "deeper than 8"));
    int n = 0;
    const berth::text_loader wide = [&](const std::string& p) {
      std::string out;
      if (p.size() < 6)
        for (int i = 0; i < 50; ++i) out += "include " + p + "/" + std::to_string(n++) + "\n";
      return std::optional<std::string>{out};
    };
    CHECK(contains(samples::failure(berth::read_conf_lines("x", "include w", wide)), "more than 1000"));
  }
}

}  // namespace
