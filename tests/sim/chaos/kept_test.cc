// Scripts of bugs that the explorer found and that are mended: none of them may come back.
//
// tests/data/chaos holds them as `baton chaos` wrote them, each with a line on what it was.
#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

#include "sim/chaos/run.h"
#include "sim/explorer/script.h"

using namespace baton::chaos;

TEST_CASE("Kept scripts: no bug that was found once is back") {
  std::vector<std::filesystem::path> scripts;
  for (const auto& entry : std::filesystem::directory_iterator("tests/data/chaos")) {
    if (entry.path().extension() == ".toml") {
      scripts.push_back(entry.path());
    }
  }
  std::ranges::sort(scripts);
  CHECK(scripts.size() >= 5);
  for (const std::filesystem::path& path : scripts) {
    INFO(path.string());
    const RunReport report = run_scenario(read_script(path.string()));
    CHECK_MESSAGE(!report.violation, (report.violation ? report.violation->message : ""));
  }
}
