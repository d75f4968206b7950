#pragma once
/// \file
/// The options of Slurm's sbatch, and how `#SBATCH` lines are cut into them.
///
/// Source: the manual page of sbatch, and `src/sbatch/opt.c` and `src/common/slurm_opt.c` of Slurm: lines that begin
/// with
/// `#SBATCH` count up to the first line that is neither empty nor a comment; words are split at blanks, with quotes and
/// backslashes; an unquoted `#` begins a comment; long options may be abbreviated; of an option given twice the last
/// counts; `#SBATCH hetjob` begins the next component of a heterogeneous job.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

namespace berth::sbatch_detail {

enum class argument : std::uint8_t { none, needed, optional };
enum class use : std::uint8_t {
  read,   ///< decides what is asked for
  told,   ///< may matter to where or when the job runs, and is told as an assumption
  beside  ///< does not matter here
};

struct option_row {
  std::string_view name;
  char letter;  ///< 0 for none
  argument takes;
  use what;
};

inline constexpr option_row options[] = {
    {"account", 'A', argument::needed, use::read},
    {"acctg-freq", 0, argument::needed, use::beside},
    {"array", 'a', argument::needed, use::read},
    {"batch", 0, argument::needed, use::told},
    {"bb", 0, argument::needed, use::told},
    {"bbf", 0, argument::needed, use::told},
    {"begin", 'b', argument::needed, use::told},
    {"bell", 0, argument::none, use::beside},
    {"chdir", 'D', argument::needed, use::beside},
    {"cluster-constraint", 0, argument::needed, use::told},
    {"cluster", 0, argument::needed, use::told},
    {"clusters", 'M', argument::needed, use::told},
    {"comment", 0, argument::needed, use::beside},
    {"consolidate-segments", 0, argument::none, use::read},
    {"constraint", 'C', argument::needed, use::read},
    {"container", 0, argument::needed, use::beside},
    {"container-id", 0, argument::needed, use::beside},
    {"context", 0, argument::needed, use::beside},
    {"contiguous", 0, argument::none, use::told},
    {"core-spec", 'S', argument::needed, use::told},
    {"cores-per-socket", 0, argument::needed, use::told},
    {"cpu-freq", 0, argument::needed, use::beside},
    {"cpus-per-gpu", 0, argument::needed, use::read},
    {"cpus-per-task", 'c', argument::needed, use::read},
    {"deadline", 0, argument::needed, use::told},
    {"delay-boot", 0, argument::needed, use::beside},
    {"dependency", 'd', argument::needed, use::read},
    {"distribution", 'm', argument::needed, use::told},
    {"error", 'e', argument::needed, use::beside},
    {"exclude", 'x', argument::needed, use::read},
    {"exclusive", 0, argument::optional, use::read},
    {"export", 0, argument::needed, use::beside},
    {"export-file", 0, argument::needed, use::beside},
    {"external", 0, argument::none, use::told},
    {"extra", 0, argument::needed, use::beside},
    {"extra-node-info", 'B', argument::needed, use::told},
    {"get-user-env", 0, argument::optional, use::beside},
    {"gid", 0, argument::needed, use::beside},
    {"gpu-bind", 0, argument::needed, use::beside},
    {"gpu-freq", 0, argument::needed, use::beside},
    {"gpus", 'G', argument::needed, use::read},
    {"gpus-per-node", 0, argument::needed, use::read},
    {"gpus-per-socket", 0, argument::needed, use::read},
    {"gpus-per-task", 0, argument::needed, use::read},
    {"gres", 0, argument::needed, use::read},
    {"gres-flags", 0, argument::needed, use::read},
    {"help", 'h', argument::none, use::beside},
    {"hint", 0, argument::needed, use::told},
    {"hold", 'H', argument::none, use::told},
    {"ignore-pbs", 0, argument::none, use::beside},
    {"input", 'i', argument::needed, use::beside},
    {"job-name", 'J', argument::needed, use::read},
    {"kill-on-invalid-dep", 0, argument::needed, use::beside},
    {"licenses", 'L', argument::needed, use::read},
    {"mail-type", 0, argument::needed, use::beside},
    {"mail-user", 0, argument::needed, use::beside},
    {"mcs-label", 0, argument::needed, use::beside},
    {"mem", 0, argument::needed, use::read},
    {"mem-bind", 0, argument::needed, use::beside},
    {"mem-per-cpu", 0, argument::needed, use::read},
    {"mem-per-gpu", 0, argument::needed, use::read},
    {"mem-update", 0, argument::needed, use::told},
    {"mincpus", 0, argument::needed, use::read},
    {"network", 0, argument::needed, use::told},
    {"nice", 0, argument::optional, use::told},
    {"no-kill", 'k', argument::optional, use::beside},
    {"no-requeue", 0, argument::none, use::beside},
    {"nodefile", 'F', argument::needed, use::told},
    {"nodelist", 'w', argument::needed, use::read},
    {"nodes", 'N', argument::needed, use::read},
    {"ntasks", 'n', argument::needed, use::read},
    {"ntasks-per-core", 0, argument::needed, use::told},
    {"ntasks-per-gpu", 0, argument::needed, use::read},
    {"ntasks-per-node", 0, argument::needed, use::read},
    {"ntasks-per-socket", 0, argument::needed, use::told},
    {"ntasks-per-tres", 0, argument::needed, use::told},
    {"oom-kill-step", 0, argument::optional, use::beside},
    {"open-mode", 0, argument::needed, use::beside},
    {"output", 'o', argument::needed, use::beside},
    {"overcommit", 'O', argument::none, use::told},
    {"oversubscribe", 's', argument::none, use::told},
    {"parsable", 0, argument::none, use::beside},
    {"partition", 'p', argument::needed, use::read},
    {"power", 0, argument::needed, use::beside},
    {"prefer", 0, argument::needed, use::told},
    {"priority", 0, argument::needed, use::read},
    {"profile", 0, argument::needed, use::beside},
    {"propagate", 0, argument::optional, use::beside},
    {"qos", 'q', argument::needed, use::read},
    {"quiet", 'Q', argument::none, use::beside},
    {"reboot", 0, argument::none, use::beside},
    {"requeue", 0, argument::optional, use::beside},
    {"reservation", 0, argument::needed, use::read},
    {"resources", 0, argument::needed, use::told},
    {"resv-ports", 0, argument::optional, use::beside},
    {"runtime", 0, argument::needed, use::beside},
    {"segment", 0, argument::needed, use::read},
    {"share", 0, argument::none, use::told},
    {"signal", 0, argument::needed, use::beside},
    {"sockets-per-node", 0, argument::needed, use::read},
    {"spread-job", 0, argument::none, use::told},
    {"spread-segments", 0, argument::none, use::read},
    {"stepmgr", 0, argument::none, use::beside},
    {"switches", 0, argument::needed, use::read},
    {"tasks-per-node", 0, argument::needed, use::read},
    {"test-only", 0, argument::none, use::beside},
    {"thread-spec", 0, argument::needed, use::told},
    {"threads-per-core", 0, argument::needed, use::told},
    {"time", 't', argument::needed, use::read},
    {"time-min", 0, argument::needed, use::told},
    {"tmp", 0, argument::needed, use::read},
    {"tres-bind", 0, argument::needed, use::beside},
    {"tres-per-task", 0, argument::needed, use::read},
    {"uid", 0, argument::needed, use::beside},
    {"umask", 0, argument::needed, use::beside},
    {"usage", 0, argument::none, use::beside},
    {"use-min-nodes", 0, argument::none, use::told},
    {"verbose", 'v', argument::none, use::beside},
    {"version", 'V', argument::none, use::beside},
    {"wait", 'W', argument::none, use::beside},
    {"wait-all-nodes", 0, argument::needed, use::beside},
    {"wckey", 0, argument::needed, use::beside},
    {"wrap", 0, argument::needed, use::beside},
};

/// The option of that name or the only one that begins with it; null otherwise.
[[nodiscard]] inline const option_row* find_long(std::string_view name) noexcept {
  const option_row* found = nullptr;
  for (const auto& o : options) {
    if (o.name == name) return &o;
    if (!name.empty() && o.name.starts_with(name)) {
      if (found != nullptr) return nullptr;
      found = &o;
    }
  }
  return found;
}
[[nodiscard]] inline const option_row* find_short(char letter) noexcept {
  for (const auto& o : options)
    if (letter != 0 && o.letter == letter) return &o;
  return nullptr;
}

/// One option as it was given.
struct setting {
  const option_row* option = nullptr;
  std::string value;
  std::size_t line = 0;
};

/// The settings of one component of a job, in the order of the file.
struct component {
  std::size_t line = 0;
  std::vector<setting> settings;

  /// The last setting of that name; null when there is none.
  [[nodiscard]] const setting* find(std::string_view name) const noexcept {
    for (std::size_t i = settings.size(); i-- > 0;)
      if (settings[i].option->name == name) return &settings[i];
    return nullptr;
  }
};

struct script {
  std::vector<component> components;
  std::size_t lines = 0;                 ///< with #SBATCH, before the first command
  std::vector<std::size_t> after_start;  ///< lines with #SBATCH that sbatch does not read
};

struct word {
  std::string text;
  std::size_t line;
};

/// Cuts the text behind `#SBATCH` into words.
[[nodiscard]] inline expected<void, input_error> split_words(std::string_view s, std::size_t line,
                                                             const std::string& source, std::vector<word>& out) {
  std::size_t i = 0;
  while (i < s.size()) {
    if (io_text::is_blank(s[i])) {
      ++i;
      continue;
    }
    if (s[i] == '#') return {};
    word w{"", line};
    char quote = 0;
    for (; i < s.size(); ++i) {
      const char c = s[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
        else if (c == '\\' && quote == '"' && i + 1 < s.size()) w.text += s[++i];
        else w.text += c;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '\\' && i + 1 < s.size()) {
        w.text += s[++i];
      } else if (io_text::is_blank(c) || c == '#') {
        break;
      } else {
        w.text += c;
      }
    }
    if (quote != 0) return unexpected{input_error{source, line, std::string{"no closing "} + quote, "quotes in pairs"}};
    out.push_back(std::move(w));
  }
  return {};
}

/// Options of the words of one component.
[[nodiscard]] inline expected<component, input_error> read_component(const std::vector<word>& words, std::size_t line,
                                                                     const std::string& source) {
  component out;
  out.line = words.empty() ? line : words.front().line;
  const auto fail = [&](const word& w, std::string found, std::string wanted) {
    return unexpected{input_error{source, w.line, std::move(found), std::move(wanted)}};
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const word& w = words[i];
    const std::string_view s = w.text;
    if (s.size() < 2 || s[0] != '-' || s == "--")
      return fail(w, io_text::quoted(s), "an option of sbatch, such as --nodes=4");
    const auto value_of = [&](const option_row& o, std::string_view given,
                              bool has) -> expected<std::string, input_error> {
      if (has) return std::string{given};
      if (o.takes != argument::needed) return std::string{};
      if (i + 1 == words.size()) return fail(w, "option --" + std::string{o.name} + " without a value", "a value");
      return words[++i].text;
    };
    if (s[1] == '-') {
      const std::size_t equals = s.find('=');
      const std::string_view name = s.substr(2, equals == std::string_view::npos ? equals : equals - 2);
      const option_row* o = find_long(name);
      if (o == nullptr) return fail(w, "option " + io_text::quoted("--" + std::string{name}), "an option of sbatch");
      const bool has = equals != std::string_view::npos;
      if (has && o->takes == argument::none)
        return fail(w, io_text::quoted(s), "--" + std::string{o->name} + " without a value");
      auto v = value_of(*o, has ? s.substr(equals + 1) : std::string_view{}, has);
      if (!v) return unexpected{std::move(v).error()};
      out.settings.push_back({o, std::move(*v), w.line});
      continue;
    }
    for (std::size_t k = 1; k < s.size(); ++k) {  // letters without arguments may be joined
      const option_row* o = find_short(s[k]);
      if (o == nullptr)
        return fail(w,
                    "option " + io_text::quoted(std::string{"-"} + s[k]) +
                        (s.size() > 2 ? " in " + io_text::quoted(s) : std::string{}),
                    "an option of sbatch");
      if (o->takes == argument::none) {
        out.settings.push_back({o, "", w.line});
        continue;
      }
      auto v = value_of(*o, s.substr(k + 1), k + 1 < s.size());
      if (!v) return unexpected{std::move(v).error()};
      out.settings.push_back({o, std::move(*v), w.line});
      break;
    }
  }
  return out;
}

/// Cuts a batch script into components and options. O(bytes).
[[nodiscard]] inline expected<script, input_error> read_script(const named_text& file) {
  constexpr std::size_t max_words = 10'000;
  script out;
  std::vector<word> words;
  std::size_t number = 0, begun = 1;
  bool reading = true;
  const auto finish = [&]() -> expected<void, input_error> {
    auto c = read_component(words, begun, file.name);
    if (!c) return unexpected{std::move(c).error()};
    out.components.push_back(std::move(*c));
    words.clear();
    return {};
  };
  for (std::string_view rest = file.text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    ++number;
    if (!line.starts_with("#SBATCH")) {
      const auto text = io_text::trim(line);
      reading = reading && (text.empty() || text.front() == '#');
      continue;
    }
    if (!reading) {
      if (out.after_start.size() < 1000) out.after_start.push_back(number);
      continue;
    }
    if (const auto bad = io_text::find_bad_utf8(line))
      return unexpected{input_error{file.name, number, "bytes that are no UTF-8", "text"}};
    ++out.lines;
    const std::size_t before = words.size();
    if (auto ok = split_words(line.substr(7), number, file.name, words); !ok) return unexpected{ok.error()};
    if (words.size() > max_words)
      return unexpected{input_error{file.name, number, "more than 10000 words of options", "a batch script"}};
    if (words.size() == before + 1 && (words.back().text == "hetjob" || words.back().text == "packjob")) {
      words.pop_back();
      if (auto ok = finish(); !ok) return unexpected{ok.error()};
      if (out.components.size() >= 1000)
        return unexpected{input_error{file.name, number, "more than 1000 components", "a batch script"}};
      begun = number;
    }
  }
  if (out.lines == 0) return unexpected{input_error{file.name, 0, "no #SBATCH line before the first command", "one"}};
  if (auto ok = finish(); !ok) return unexpected{ok.error()};
  return out;
}

}  // namespace berth::sbatch_detail
