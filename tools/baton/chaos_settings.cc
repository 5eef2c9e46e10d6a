#include "tools/baton/chaos_settings.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/errors.h"
#include "tools/baton/values.h"

namespace baton {
namespace {

constexpr std::uint64_t kSeedMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kSeedsMax = 1'000'000'000'000;
constexpr std::uint64_t kDigestsMax = 100'000'000;  // each takes 16 bytes until the end

[[noreturn]] void refuse(const SettingTable& table, const std::string& name, const std::string& why) {
  throw Error(Errc::invalid_argument, fmt::format("{}: {}", table.origin(name), why));
}

template <class Number>
Setting number_setting(SettingText text, Number& field, NumberBounds bounds, bool is_shown = true) {
  return {std::move(text.name),
          std::move(text.group),
          std::move(text.value),
          std::move(text.help),
          [&field, bounds](const std::string& value) { field = static_cast<Number>(parse_count(value, bounds)); },
          [&field, is_shown] { return is_shown ? std::to_string(field) : std::string(); }};
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < chaos::kFaults; ++i) {
    names.emplace_back(chaos::to_string(static_cast<chaos::Fault>(i)));
  }
  return names;
}

Setting profile_setting(const std::string& group, std::string& field) {
  std::vector<std::string> names;
  std::string help = "which faults a run may meet";
  for (const chaos::Profile& profile : chaos::profiles()) {
    names.emplace_back(profile.name);
    help += fmt::format("\n{}: {}", profile.name, profile.what);
  }
  Setting setting = word_setting({"profile", group, "", help}, field, std::move(names));
  setting.value = "NAME";
  return setting;
}

// "a word, a word," in lines.
std::string in_lines(const std::vector<std::string>& words) {
  std::string text;
  std::size_t width = 0;
  for (const std::string& word : words) {
    const bool full = width + word.size() > 72;
    text += text.empty() ? "" : full ? ",\n" : ", ";
    width = full ? word.size() : width + word.size() + 2;
    text += word;
  }
  return text;
}

void refuse_together(const SettingTable& table, const char* mode, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (table.given(mode) && table.given(name)) {
      refuse(table, name, fmt::format("has no use with {}, which is one run", table.origin(mode)));
    }
  }
}

// Now rather than after an hour. The file is not made: perhaps nothing will be found.
void check_writable(const SettingTable& table, const char* name, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const bool exists = ::access(path.c_str(), F_OK) == 0;
  if (!path.empty() && ::access(exists ? path.c_str() : folder.c_str(), W_OK) != 0) {
    refuse(table, name, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
}

}  // namespace

void add_settings(SettingTable& table, ChaosSettings& settings) {
  const std::string search = "Search";
  table.add(number_setting({"seeds", search, "N", "how many seeds to run, each a world of its own"}, settings.seeds,
                           {1, kSeedsMax}));
  table.add(number_setting({"from", search, "S", "the first of them"}, settings.from, {0, kSeedMax}));
  table.add(profile_setting(search, settings.profile));
  table.add(list_setting(
      {"without", search, "KIND", "leave out a kind of fault; may be given several times:\n" + in_lines(fault_names())},
      settings.without));
  table.add(
      number_setting({"jobs", search, "N", "processes; 0: as many as cores may be used"}, settings.jobs, {0, 1024}));
  table.add(
      flag_setting({"coverage", search, "", "print which events have met which states of a room"}, settings.coverage));
  table.add(flag_setting({"digest", search, "", "print the digest of each seed's event log, to compare builds"},
                         settings.digest));

  const std::string failure = "A seed that fails";
  table.add(duration_setting(
      {"shrink-seconds", failure, "TIME", "how long to look for a smaller failure; 0: not at all"}, settings.shrink));
  table.add(text_setting({"output", failure, "FILE",
                          "the script that shows the failure; with --replay: that seed's.\nDefault: chaos-SEED.toml"},
                         settings.output));

  const std::string one = "One run";
  table.add(number_setting({"replay", one, "SEED", "run this seed and print the timeline of what failed, or of all"},
                           settings.replay, {0, kSeedMax}, false));
  table.add(text_setting({"script", one, "FILE.toml", "run a script, as a failure leaves it, and print the same"},
                         settings.script));
  table.add(number_setting({"request", one, "I", "the timeline of this request"}, settings.request,
                           {0, std::numeric_limits<std::uint32_t>::max()}, false));
  table.add(text_setting({"perfetto", one, "FILE", "write the timeline for ui.perfetto.dev, too"}, settings.perfetto));
}

void check(const SettingTable& table, const ChaosSettings& settings) {
  if (table.given("replay") && table.given("script")) {
    refuse(table, "script", fmt::format("give this or {}, not both", table.origin("replay")));
  }
  refuse_together(table, "replay", {"seeds", "from", "jobs", "coverage", "digest", "shrink-seconds"});
  refuse_together(table, "script",
                  {"seeds", "from", "jobs", "coverage", "digest", "shrink-seconds", "profile", "without", "output"});
  if (table.given("request") && !table.given("replay") && !table.given("script")) {
    refuse(table, "request", "has no use without --replay or --script");
  }
  if (settings.from > kSeedMax - (settings.seeds - 1)) {
    refuse(table, table.given("from") ? "from" : "seeds",
           fmt::format("the last of {} seeds from {} would be beyond {}", settings.seeds, settings.from, kSeedMax));
  }
  if (settings.digest && settings.seeds > kDigestsMax) {
    refuse(table, "digest", fmt::format("takes at most {} seeds", kDigestsMax));
  }
  check_writable(table, "output", settings.output);
  check_writable(table, "perfetto", settings.perfetto);
}

chaos::Profile profile_of(const SettingTable& table, const ChaosSettings& settings) {
  chaos::Profile profile = chaos::find_profile(settings.profile).value();
  for (const std::string& given : settings.without) {
    std::istringstream words(given);
    for (std::string word; std::getline(words, word, ',');) {
      const std::optional<chaos::Fault> fault = chaos::find_fault(word);
      if (!fault) {
        const std::string meant = nearest(word, fault_names());
        refuse(table, "without",
               fmt::format("no fault is called '{}'{}", word,
                           meant.empty() ? " (see baton chaos --help)" : "; did you mean " + meant + "?"));
      }
      profile.without.push_back(*fault);
    }
  }
  return profile;
}

}  // namespace baton
