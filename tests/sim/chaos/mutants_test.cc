// Tests of the tests: each protection of runtime/mutants.h is taken out in turn, and someone must notice.
//
// A mutant may abort or hang, so everything runs in processes of its own. How many seeds the explorer may take is
// BATON_MUTANT_SEEDS (10,000 unless set).
#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "sim/chaos/profile.h"
#include "sim/explorer/explore.h"
#include "sim/explorer/forked.h"
#include "tests/sim/chaos/mutant_table.h"
#include "tests/sim/chaos/named_case.h"

using namespace baton;
using namespace baton::chaos;

namespace {

constexpr std::chrono::seconds kCaseTime{60};

const NamedCase& case_of(const std::string& label) {
  static const std::vector<NamedCase> kCases = all_named_cases();
  for (const NamedCase& named : kCases) {
    if (std::string_view(named.name).starts_with(label + ":")) {
      return named;
    }
  }
  throw std::runtime_error("no case " + label);
}

std::vector<std::string> labels_of(const MutantEntry& entry) {
  std::vector<std::string> labels;
  std::istringstream words(entry.cases);
  for (std::string label; std::getline(words, label, ',');) {
    labels.push_back(label);
  }
  return labels;
}

// True when the case held.
bool holds(const NamedCase& named, Mutant mutant) {
  const ForkedEnd end = run_forked(
      [&]() -> std::vector<std::string> {
        active_mutant = mutant;
        try {
          named.check();
        } catch (const std::exception& error) {
          return {error.what()};
        }
        return {};
      },
      kCaseTime);
  return end.how == ForkedEnd::How::returned && end.parts.empty();
}

std::uint64_t seeds_allowed() {
  const char* text = std::getenv("BATON_MUTANT_SEEDS");
  return text == nullptr ? 10'000 : std::strtoull(text, nullptr, 10);
}

bool explorer_finds(const MutantEntry& entry) {
  const Profile profile = find_profile(entry.profile).value();
  ExploreOptions options;
  options.first = 1;
  options.seeds = seeds_allowed();
  const Exploration exploration = explore(
      options, [&](std::uint64_t seed) { return draw_scenario(profile, seed); },
      [&](const Scenario& scenario, RunOptions run) {
        active_mutant = entry.mutant;
        return run_scenario(scenario, run);
      });
  if (exploration.finding) {
    MESSAGE(std::string(entry.name) << ": seed " << exploration.seed << ", rule " << exploration.finding->rule);
  }
  return exploration.finding.has_value();
}

}  // namespace

TEST_CASE("Mutants: with every protection in place every named case holds") {
  for (const NamedCase& named : all_named_cases()) {
    INFO(std::string(named.name));
    CHECK(holds(named, Mutant::none));
  }
}

TEST_CASE("Mutants: each protection that is taken out is noticed by the cases that stand for it") {
  for (const MutantEntry& entry : kMutants) {
    for (const std::string& label : labels_of(entry)) {
      INFO(std::string(entry.name));
      INFO(label);
      CHECK_FALSE(holds(case_of(label), entry.mutant));
    }
  }
}

TEST_CASE("Mutants: every named case has a protection that makes it fail when it is taken out") {
  std::set<std::string> named;
  for (const MutantEntry& entry : kMutants) {
    const std::vector<std::string> labels = labels_of(entry);
    named.insert(labels.begin(), labels.end());
  }
  for (const NamedCase& one : all_named_cases()) {
    const std::string name = one.name;
    INFO(name);
    CHECK(named.contains(name.substr(0, name.find(':'))));
  }
}

TEST_CASE("Mutants: every protection that can be taken out is tried, once") {
#define BATON_MUTANT(name) Mutant::name,
  for (const Mutant mutant : {BATON_MUTANT_LIST(BATON_MUTANT)}) {
#undef BATON_MUTANT
    CAPTURE(static_cast<int>(mutant));
    CHECK(std::ranges::count(kMutants, mutant, &MutantEntry::mutant) == 1);
  }
}

TEST_CASE("Mutants: each protection that is taken out is found by the explorer, or its entry says why not") {
  for (const MutantEntry& entry : kMutants) {
    INFO(std::string(entry.name));
    const bool seen = entry.profile != nullptr;
    CHECK(seen == (entry.unseen == nullptr));
    if (seen) {
      INFO(std::string(entry.profile));
      CHECK(explorer_finds(entry));
    }
  }
}
