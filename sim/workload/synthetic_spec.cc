#include "sim/workload/synthetic_spec.h"

#include <algorithm>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "runtime/errors.h"
#include "runtime/text_file.h"
#include "sim/workload/spec_text.h"

namespace baton::sim {
namespace {

constexpr std::uint64_t kRequestsMax = 10'000'000'000;
constexpr std::uint32_t kGroupsMax = 1'000'000;
constexpr double kZipfMax = 10;

using Spec = SyntheticSpec;
using Text = const std::string&;

std::uint32_t small_count(Text text, std::uint32_t min, std::uint32_t max) {
  return static_cast<std::uint32_t>(spec_count(text, min, max));
}

std::string time_text(const std::optional<Duration>& time) {
  return time ? fmt::format("{}s", seconds(*time)) : std::string();
}

std::vector<SyntheticSetting> load_settings() {
  return {
      {"requests", "N", "how many requests; 1000 where no duration is given either",
       [](Spec& spec, Text text) { spec.requests = spec_count(text, 1, kRequestsMax); },
       [](const Spec& spec) { return spec.requests ? std::to_string(*spec.requests) : std::string(); }},
      {"duration", "TIME", "no conversation begins after this",
       [](Spec& spec, Text text) { spec.duration = spec_time(text); },
       [](const Spec& spec) { return time_text(spec.duration); }},
      {"arrivals", "PROCESS",
       "when conversations begin, with how many a second: constant:RATE, poisson:RATE,\ngamma:RATE,CV (of the gaps), "
       "onoff:RATE,ON,OFF (mean lengths of the phases)",
       [](Spec& spec, Text text) { spec.arrivals = parse_arrivals(text); },
       [](const Spec& spec) { return spec.arrivals.text; }},
      {"input", "LENGTH", "new tokens of a turn's prompt: N, uniform:LEAST,MOST, exponential:MEAN,\nlognormal:MEAN,CV",
       [](Spec& spec, Text text) { spec.input = parse_length(text, Spec::kSyntheticTokensMax); },
       [](const Spec& spec) { return spec.input.text; }},
      {"output", "LENGTH", "tokens of a turn's answer, likewise",
       [](Spec& spec, Text text) { spec.output = parse_length(text, Spec::kSyntheticTokensMax); },
       [](const Spec& spec) { return spec.output.text; }},
      {"lengths", "FILE", "draw prompt and answer together from those of a trace, in place of input and output",
       [](Spec& spec, Text text) { spec.lengths = text; }, [](const Spec& spec) { return spec.lengths; }},
  };
}

std::vector<SyntheticSetting> context_settings() {
  return {
      {"prefix-groups", "N", "how many different prompts stand before the conversations' own text",
       [](Spec& spec, Text text) { spec.prefix_groups = small_count(text, 0, kGroupsMax); },
       [](const Spec& spec) { return std::to_string(spec.prefix_groups); }},
      {"prefix-tokens", "LENGTH", "their lengths",
       [](Spec& spec, Text text) { spec.prefix_tokens = parse_length(text, Spec::kSyntheticTokensMax); },
       [](const Spec& spec) { return spec.prefix_tokens.text; }},
      {"prefix-zipf", "S", "how unequal they are drawn: the k-th most popular with a weight of 1/k^S",
       [](Spec& spec, Text text) { spec.prefix_zipf = spec_real(text, 0, kZipfMax); },
       [](const Spec& spec) { return fmt::format("{}", spec.prefix_zipf); }},
      {"turns", "LENGTH", "turns of a conversation; each turn's prompt is all that was said before, and more",
       [](Spec& spec, Text text) { spec.turns = parse_length(text, Spec::kSyntheticTurnsMax); },
       [](const Spec& spec) { return spec.turns.text; }},
      {"think", "TIME", "pause between an answer and the next turn: 10s, exponential:10s, lognormal:10s,CV",
       [](Spec& spec, Text text) { spec.think = parse_pause(text); }, [](const Spec& spec) { return spec.think.text; }},
      {"context-max", "N", "a conversation ends before prompt and answer would be longer than this",
       [](Spec& spec, Text text) { spec.context_max = small_count(text, 2, Spec::kSyntheticTokensMax); },
       [](const Spec& spec) { return std::to_string(spec.context_max); }},
      {"block-tokens", "N", "size of the hash blocks that say what is shared",
       [](Spec& spec, Text text) { spec.block_tokens = small_count(text, 1, 65'536); },
       [](const Spec& spec) { return std::to_string(spec.block_tokens); }},
      {"seed", "S", "what all random draws begin with",
       [](Spec& spec, Text text) { spec.seed = spec_count(text, 0, ~std::uint64_t{0}); },
       [](const Spec& spec) { return std::to_string(spec.seed); }},
  };
}

// A TOML value as the text that a setting takes.
std::string text_of(const toml::node& node, const std::string& origin) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  if (const auto* number = node.as_integer()) {
    return std::to_string(number->get());
  }
  if (const auto* real = node.as_floating_point()) {
    return fmt::format("{}", real->get());
  }
  throw Error(Errc::invalid_argument, fmt::format("{}: a word or a number is wanted", origin));
}

}  // namespace

const std::vector<SyntheticSetting>& synthetic_settings() {
  static const std::vector<SyntheticSetting> all = [] {
    std::vector<SyntheticSetting> settings = load_settings();
    const std::vector<SyntheticSetting> more = context_settings();
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
  }();
  return all;
}

void set_synthetic(SyntheticSpec& spec, const std::string& name, const std::string& value, const std::string& origin) {
  for (const SyntheticSetting& setting : synthetic_settings()) {
    if (name != setting.name) {
      continue;
    }
    try {
      setting.set(spec, value);
    } catch (const Error& error) {
      throw Error(Errc::invalid_argument, fmt::format("{}: {}", origin, error.what()));
    }
    spec.given.insert(name);
    return;
  }
  std::string names;
  for (const SyntheticSetting& setting : synthetic_settings()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", setting.name);
  }
  throw Error(Errc::invalid_argument, fmt::format("{}: unknown setting; known are {}", origin, names));
}

void check_synthetic(const SyntheticSpec& spec, const std::string& origin) {
  const auto refuse = [&](const char* name, const char* why) {
    if (spec.given.contains(name)) {
      throw Error(Errc::invalid_argument, fmt::format("{}: {} has no effect {}", origin, name, why));
    }
  };
  if (!spec.lengths.empty()) {
    refuse("input", "beside lengths, which gives both");
    refuse("output", "beside lengths, which gives both");
  }
  if (spec.prefix_groups == 0) {
    refuse("prefix-tokens", "without prefix-groups");
    refuse("prefix-zipf", "without prefix-groups");
  }
  const bool one_turn = spec.turns.kind == LengthKind::fixed && spec.turns.first <= 1;
  if (one_turn) {
    refuse("think", "in conversations of one turn (turns)");
  }
  if (one_turn && spec.prefix_groups == 0) {
    refuse("block-tokens", "where nothing is shared: no prefix-groups, one turn");
  }
}

SyntheticSpec parse_synthetic(std::string_view text, const std::string& origin) {
  toml::table table;
  try {
    table = toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    throw Error(Errc::bad_file, fmt::format("{}:{}: {}", origin, error.source().begin.line, error.description()));
  }
  SyntheticSpec spec;
  for (const auto& [key, node] : table) {
    const std::string place = fmt::format("{}:{}: {}", origin, key.source().begin.line, key.str());
    set_synthetic(spec, std::string(key.str()), text_of(node, place), place);
  }
  check_synthetic(spec, origin);
  return spec;
}

SyntheticSpec read_synthetic(const std::string& path) {
  return parse_synthetic(read_text_file(path), path);
}

}  // namespace baton::sim
