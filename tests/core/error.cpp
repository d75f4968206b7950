#include "berth/core/error.hpp"

#include <doctest/doctest.h>

TEST_CASE("an input error reads file, line, what was found and what was expected") {
  const berth::input_error full{"slurm.conf", 12, "'Gres=gpu:x'", "a count"};
  CHECK(full.message() == "slurm.conf:12: found 'Gres=gpu:x', expected a count");
}

TEST_CASE("an input error leaves out the line where there are none, and what nobody can expect") {
  CHECK(berth::input_error{"--gang", 0, "'tasks=0'", "at least 1"}.message() ==
        "--gang: found 'tasks=0', expected at least 1");
  CHECK(berth::input_error{"a.json", 3, "the end of the file", ""}.message() == "a.json:3: found the end of the file");
}
