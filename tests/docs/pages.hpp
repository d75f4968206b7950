#pragma once
// The pages of the documentation and the tests behind them.
//
// A C++ block of a page is a region of a file here, word for word, and runs in that file's test:
//
//     page                             tests/docs/*.cpp
//     <!-- code: NAME -->              // [NAME]
//     ```cpp                           ...
//     ...                              // [end]
//     ```
//
// What a page shows as output is what the test printed; `check_output("NAME", text)` compares it with
//
//     <!-- output: NAME -->
//     ```text
//     ...
//     ```
//
// With BERTH_DOCS_WRITE in the environment the pages are rewritten from regions and outputs instead of compared.

#include <doctest/doctest.h>

#include <cstddef>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace berth_docs {

// A fenced block of a page.
struct block {
  std::string page;      // relative to the root
  std::size_t line = 0;  // of the opening fence
  std::string language;
  std::string kind, name;  // of the comment above: "code" or "output", and what it names; empty: no comment
  std::string text;
};

// README.md and every page under docs/.
[[nodiscard]] std::vector<std::string> page_names();
[[nodiscard]] std::vector<block> blocks_of(const std::string& page);
// A region of tests/docs/*.cpp, its common indentation taken off.
struct region {
  std::string file, name, text;
};
[[nodiscard]] std::vector<region> regions();
[[nodiscard]] std::string read_file(const std::string& path);
[[nodiscard]] bool rewriting();
// Gives the block a new text, on disk.
void rewrite(const block& b, const std::string& text);

// Compares what was printed with the page that shows it.
void check_output(const std::string& name, const std::string& printed);

// Catches what is written to std::cout until it is asked for the text.
class printed {
 public:
  printed() : before_{std::cout.rdbuf(text_.rdbuf())} {}
  printed(const printed&) = delete;
  printed& operator=(const printed&) = delete;
  ~printed() { stop(); }
  // What was written so far; catches nothing more, so that what doctest says is seen.
  [[nodiscard]] std::string text() {
    stop();
    return text_.str();
  }

 private:
  void stop() {
    if (before_ != nullptr) std::cout.rdbuf(before_);
    before_ = nullptr;
  }
  std::ostringstream text_;
  std::streambuf* before_;
};

}  // namespace berth_docs
