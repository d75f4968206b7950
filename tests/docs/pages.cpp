// Holds the pages to what the tests compiled and printed, and their links to what exists.
#include "docs/pages.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace berth_docs {

namespace {

namespace fs = std::filesystem;

[[nodiscard]] fs::path root() {
  return BERTH_SOURCE_DIR;
}

[[nodiscard]] std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// "<!-- code: NAME -->" as {"code", "NAME"}.
[[nodiscard]] std::pair<std::string, std::string> comment_in(const std::string& line) {
  constexpr std::string_view open = "<!-- ", close = " -->";
  if (line.rfind(open, 0) != 0 || line.size() < open.size() + close.size()) return {};
  const std::string inside = line.substr(open.size(), line.size() - open.size() - close.size());
  const std::size_t colon = inside.find(": ");
  if (colon == std::string::npos) return {};
  return {inside.substr(0, colon), inside.substr(colon + 2)};
}

[[nodiscard]] std::string without_indentation(const std::vector<std::string>& lines) {
  std::size_t least = std::string::npos;
  for (const auto& l : lines)
    if (const std::size_t at = l.find_first_not_of(' '); at != std::string::npos) least = std::min(least, at);
  std::string out;
  for (const auto& l : lines) out += (l.size() > least ? l.substr(least) : "") + "\n";
  return out;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream in{root() / path, std::ios::binary};
  REQUIRE_MESSAGE(in.good(), "cannot read ", path);
  return {std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
}

std::vector<std::string> page_names() {
  std::vector<std::string> out{"README.md"};
  for (const auto& e : fs::directory_iterator{root() / "docs"})
    if (e.path().extension() == ".md") out.push_back("docs/" + e.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<block> blocks_of(const std::string& page) {
  std::vector<block> out;
  const auto lines = lines_of(read_file(page));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].rfind("```", 0) != 0) continue;
    block b{page, i + 1, lines[i].substr(3), "", "", ""};
    if (i > 0) std::tie(b.kind, b.name) = comment_in(lines[i - 1]);
    for (++i; i < lines.size() && lines[i] != "```"; ++i) b.text += lines[i] + "\n";
    REQUIRE_MESSAGE(i < lines.size(), page, ":", b.line, ": the block has no end");
    out.push_back(std::move(b));
  }
  return out;
}

std::vector<region> regions() {
  std::vector<region> out;
  for (const auto& e : fs::directory_iterator{root() / "tests/docs"}) {
    if (e.path().extension() != ".cpp") continue;
    const std::string file = "tests/docs/" + e.path().filename().string();
    std::vector<std::string> inside;
    std::string name;
    for (const auto& line : lines_of(read_file(file))) {
      const std::size_t at = line.find_first_not_of(' ');
      const std::string_view words = at == std::string::npos ? std::string_view{} : std::string_view{line}.substr(at);
      const bool mark = words.starts_with("// [") && words.ends_with("]");
      if (mark && words == "// [end]") {
        REQUIRE_MESSAGE(!name.empty(), file, ": [end] without a beginning");
        out.push_back({file, name, without_indentation(inside)});
        name.clear();
        inside.clear();
      } else if (mark) {
        REQUIRE_MESSAGE(name.empty(), file, ": [", name, "] has no end");
        name = words.substr(4, words.size() - 5);
      } else if (!name.empty()) {
        inside.push_back(line);
      }
    }
    REQUIRE_MESSAGE(name.empty(), file, ": [", name, "] has no end");
  }
  return out;
}

bool rewriting() {
  return std::getenv("BERTH_DOCS_WRITE") != nullptr;
}

void rewrite(const block& stale, const std::string& text) {
  block b = stale;  // an earlier block of the page may have grown since
  for (const auto& now : blocks_of(b.page))
    if (now.kind == b.kind && now.name == b.name) b = now;
  const auto lines = lines_of(read_file(b.page));
  std::ofstream out{root() / b.page, std::ios::binary};
  for (std::size_t i = 0; i < b.line; ++i) out << lines[i] << "\n";
  out << text;
  std::size_t end = b.line;
  while (lines[end] != "```") ++end;
  for (; end < lines.size(); ++end) out << lines[end] << "\n";
}

void check_output(const std::string& name, const std::string& printed) {
  std::vector<block> found;
  for (const auto& page : page_names())
    for (auto& b : blocks_of(page))
      if (b.kind == "output" && b.name == name) found.push_back(std::move(b));
  CAPTURE(name);
  REQUIRE(found.size() == 1);
  if (rewriting()) return rewrite(found.front(), printed);
  CHECK_MESSAGE(found.front().text == printed, found.front().page, ":", found.front().line, " shows\n",
                found.front().text, "but this is printed:\n", printed);
}

TEST_SUITE("docs/pages") {
  TEST_CASE("every C++ block of every page is a region that a test compiles and runs") {
    const auto all = regions();
    std::set<std::string> shown;
    for (const auto& page : page_names())
      for (const auto& b : blocks_of(page)) {
        CAPTURE(page);
        CAPTURE(b.line);
        const bool cpp = b.language == "cpp" || b.language == "c++";
        if (!cpp && b.kind != "code") continue;
        CHECK(b.language == "cpp");
        CHECK_MESSAGE(b.kind == "code", "the comment above it must name its region");
        const auto r = std::find_if(all.begin(), all.end(), [&](const region& x) { return x.name == b.name; });
        REQUIRE_MESSAGE(r != all.end(), "tests/docs has no region [", b.name, "]");
        CHECK_MESSAGE(shown.insert(b.name).second, "[", b.name, "] is shown twice");
        if (rewriting()) rewrite(b, r->text);
        else CHECK_MESSAGE(b.text == r->text, "the page shows\n", b.text, "but ", r->file, " has\n", r->text);
      }
    for (const auto& r : all) CHECK_MESSAGE(shown.count(r.name) == 1, r.file, ": [", r.name, "] is on no page");
  }

  TEST_CASE("every output that a page shows is printed by a test") {
    std::string sources;
    for (const auto& e : fs::directory_iterator{root() / "tests/docs"})
      if (e.path().extension() == ".cpp") sources += read_file("tests/docs/" + e.path().filename().string());
    for (const auto& page : page_names())
      for (const auto& b : blocks_of(page))
        if (b.kind == "output")
          CHECK_MESSAGE(sources.find("check_output(\"" + b.name + "\"") != std::string::npos, page, ":", b.line,
                        ": no test prints ", b.name);
  }

  TEST_CASE("every link inside the project leads to a file or a heading") {
    const auto anchor = [](const std::string& heading) {
      std::string out;
      for (const char c : heading) {
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') out += c;
        else if (c >= 'A' && c <= 'Z') out += static_cast<char>(c + 32);
        else if (c == ' ') out += '-';
      }
      return out;
    };
    for (const auto& page : page_names()) {
      bool fenced = false;
      for (const auto& line : lines_of(read_file(page))) {
        if (line.rfind("```", 0) == 0) fenced = !fenced;
        if (fenced) continue;
        for (std::size_t at = line.find("]("); at != std::string::npos; at = line.find("](", at + 1)) {
          const std::string target = line.substr(at + 2, line.find(')', at) - at - 2);
          if (target.find("://") != std::string::npos) continue;
          const std::size_t hash = target.find('#');
          const std::string path = target.substr(0, hash);
          const fs::path file = path.empty() ? root() / page : (root() / page).parent_path() / path;
          CHECK_MESSAGE(fs::exists(file), page, ": ", target, " does not exist");
          if (hash == std::string::npos || !fs::exists(file)) continue;
          bool found = false;
          for (const auto& l : lines_of(read_file(fs::relative(file, root()).string())))
            found = found || (l.rfind("#", 0) == 0 && anchor(l.substr(l.find(' ') + 1)) == target.substr(hash + 1));
          CHECK_MESSAGE(found, page, ": ", target, " names no heading");
        }
      }
    }
  }
}

}  // namespace berth_docs
