// A made-up load as a value, and its settings by name: once for files (TOML) and for the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/time.h"
#include "sim/workload/arrivals.h"
#include "sim/workload/lengths.h"

namespace baton::sim {

struct SyntheticSpec {
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> requests;  // ends after so many; 1,000 if no duration is given either
  std::optional<Duration> duration;       // no conversation begins after this
  ArrivalSpec arrivals;                   // of conversations; those have one turn by default
  LengthSpec input = parse_length("512", kSyntheticTokensMax);   // new tokens of each turn
  LengthSpec output = parse_length("128", kSyntheticTokensMax);  // of each turn
  std::string lengths;  // a trace whose pairs of lengths are drawn from, in place of both

  // So many prompts that begin conversations, each of its own length; a conversation draws one of them.
  std::uint32_t prefix_groups = 0;
  LengthSpec prefix_tokens = parse_length("1024", kSyntheticTokensMax);
  double prefix_zipf = 0;  // how unequal they are drawn: the k-th with a weight of k^-this

  LengthSpec turns = parse_length("1", kSyntheticTurnsMax);
  PauseSpec think;                      // between the end of a turn and the next
  std::uint32_t context_max = 131'072;  // a conversation ends before prompt and answer would be longer
  std::uint32_t block_tokens = 16;      // of the hash blocks that say what is shared

  std::set<std::string> given;  // names of settings that were set

  static constexpr std::uint32_t kSyntheticTokensMax = 1U << 24;
  static constexpr std::uint32_t kSyntheticTurnsMax = 10'000;
};

struct SyntheticSetting {
  const char* name;
  const char* value;  // what stands for the value in a help text
  const char* help;
  void (*set)(SyntheticSpec& spec, const std::string& text);  // throws Error(invalid_argument) without the name
  std::string (*text)(const SyntheticSpec& spec);             // the value now; empty: none
};

const std::vector<SyntheticSetting>& synthetic_settings();

// Sets one. Throws Error(invalid_argument): "ORIGIN: what is wrong", also for a name that does not exist.
void set_synthetic(SyntheticSpec& spec, const std::string& name, const std::string& value, const std::string& origin);

// What is wrong about settings together: one that has no effect with the others. Throws Error(invalid_argument).
void check_synthetic(const SyntheticSpec& spec, const std::string& origin);

// From a TOML file of such settings. Throws Error(bad_file) for what is no TOML, Error(invalid_argument) with file,
// line and key for what makes no sense. The origin names the file.
SyntheticSpec parse_synthetic(std::string_view text, const std::string& origin);
SyntheticSpec read_synthetic(const std::string& path);

}  // namespace baton::sim
