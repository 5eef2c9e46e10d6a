// What `baton chaos` is told: which seeds to run, or which one run to show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/time.h"
#include "sim/chaos/profile.h"
#include "tools/baton/setting_table.h"

namespace baton {

struct ChaosSettings {
  std::uint64_t seeds = 20'000;
  std::uint64_t from = 1;
  std::string profile = "all";
  std::vector<std::string> without;  // words with commas between, or one each
  std::uint32_t jobs = 0;            // processes; 0: one for each core that may be used
  bool coverage = false;
  bool digest = false;
  Duration shrink = std::chrono::seconds(60);
  std::string output;  // the script; empty: chaos-SEED.toml

  std::uint64_t replay = 0;   // a seed, if given
  std::string script;         // a file, or empty
  std::uint32_t request = 0;  // if given
  std::string perfetto;       // a file, or empty
};

void add_settings(SettingTable& table, ChaosSettings& settings);

// What is wrong about settings together. Throws Error(invalid_argument).
void check(const SettingTable& table, const ChaosSettings& settings);

// The profile with what it is without. Throws Error(invalid_argument) for a kind of fault that does not exist.
chaos::Profile profile_of(const SettingTable& table, const ChaosSettings& settings);

}  // namespace baton
