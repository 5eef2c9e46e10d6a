#include "tools/baton/trace_settings.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "tools/baton/values.h"

namespace baton {
namespace {

using sim::TraceOptions;

constexpr double kFactorMin = 1e-6;
constexpr double kFactorMax = 1e6;
constexpr std::uint64_t kRowsMax = 1'000'000'000'000;

Setting setting(SettingText text, std::function<void(const std::string&)> set, std::function<std::string()> value,
                bool quoted = true) {
  Setting made{std::move(text.name), std::move(text.group), std::move(text.value),
               std::move(text.help), std::move(set),        std::move(value)};
  made.quoted = quoted;
  return made;
}

std::string no_text() {
  return {};
}

// Of a field that is absent until it is given.
template <class Spec>
Setting spec_setting(SettingText text, std::optional<Spec>& field, std::function<Spec(const std::string&)> parse) {
  return setting(
      std::move(text), [&field, parse = std::move(parse)](const std::string& value) { field = parse(value); },
      [&field] { return field ? field->text : std::string(); });
}

template <class Number>
Setting count_setting(SettingText text, std::optional<Number>& field, NumberBounds bounds) {
  return setting(
      std::move(text),
      [&field, bounds](const std::string& value) { field = static_cast<Number>(parse_count(value, bounds)); },
      [&field] { return field ? std::to_string(*field) : std::string(); }, false);
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const sim::FormatText& format : sim::trace_formats()) {
    names.emplace_back(format.name);
  }
  return names;
}

std::string format_help() {
  std::string help = "what the file is, where its first line does not say it:";
  for (const sim::FormatText& format : sim::trace_formats()) {
    help += fmt::format("\n{}: {}", format.name, format.what);
  }
  return help;
}

void add_reading(SettingTable& table, TraceOptions& options) {
  const std::string group = "Reading";
  table.add(setting(
      {"format", group, "NAME", format_help()},
      [&options](const std::string& value) {
        options.read.format = sim::find_trace_format(parse_word(value, format_names()));
      },
      [&options] { return options.read.format ? std::string(to_string(*options.read.format)) : std::string(); }));
  table.add(setting(
      {"block-tokens", group, "N", "size of the trace's hash blocks, where it is not the usual one of its format"},
      [&options](const std::string& value) {
        options.read.block_tokens = static_cast<std::uint32_t>(parse_count(value, {1, 65'536}));
      },
      no_text, false));
  table.add(flag_setting({"rebase", group, "", "time begins with the first row; for clocks that begin in 1970"},
                         options.read.rebase));
  table.add(flag_setting({"sort", group, "", "sort by arrival, in memory; turns go behind the turn they wait for"},
                         options.sort));
  table.add(spec_setting<sim::ArrivalSpec>(
      {"arrivals", group, "PROCESS",
       "arrivals in place of the file's, with requests a second: constant:RATE, poisson:RATE,\ngamma:RATE,CV (of the "
       "gaps), onoff:RATE,ON,OFF (mean lengths of the phases)"},
      options.arrivals, sim::parse_arrivals));
  table.add(text_setting({"category", group, "NAME", "which requests of a table of rates by time"}, options.category));
  const auto length = [](const std::string& value) { return sim::parse_length(value, sim::kTokensMax); };
  table.add(spec_setting<sim::LengthSpec>(
      {"input", group, "LENGTH",
       "prompt lengths for a table of rates: N, uniform:LEAST,MOST, exponential:MEAN,\nlognormal:MEAN,CV"},
      options.input, length));
  table.add(
      spec_setting<sim::LengthSpec>({"output", group, "LENGTH", "answer lengths, likewise"}, options.output, length));
}

Setting factor_setting(SettingText text, double& field, RealBounds bounds) {
  return setting(
      std::move(text), [&field, bounds](const std::string& value) { field = parse_real(value, bounds); },
      [&field] { return fmt::format("{}", field); }, false);
}

void add_times(SettingTable& table, TraceOptions& options, const std::string& group) {
  table.add(setting(
      {"spread", group, "auto|TIME",
       "spread what arrives at one coarse time up to the next (auto), or over TIME at most"},
      [&options](const std::string& value) {
        options.spread = true;
        options.spread_tick = value == "auto" ? std::nullopt : std::optional(parse_duration(value));
        if (options.spread_tick == Duration{0}) {
          throw Error(Errc::invalid_argument, "more than 0 is wanted, or auto");
        }
      },
      no_text));
  table.add(setting(
      {"from", group, "TIME", "leave out what arrives before; time begins here"},
      [&options](const std::string& value) { options.from = parse_duration(value); }, no_text));
  table.add(setting(
      {"until", group, "TIME", "leave out what arrives then or later, counted as for from"},
      [&options](const std::string& value) { options.to = parse_duration(value); }, no_text));
}

void add_changing(SettingTable& table, TraceOptions& options) {
  const std::string group = "Changing, in this order";
  add_times(table, options, group);
  table.add(flag_setting({"drop-failed", group, "", "leave out requests without an answer"}, options.drop_failed));
  table.add(factor_setting({"thin", group, "P", "keep this share, drawn by the seed: a lower rate, with weaker bursts"},
                           options.thin, {0, 1}));
  table.add(factor_setting({"rate-scale", group, "X", "X times as many requests a second, with bursts as they are"},
                           options.rate_scale, {kFactorMin, kFactorMax}));
  table.add(count_setting<std::uint32_t>({"input-max", group, "N", "cut longer prompts to so many tokens"},
                                         options.caps.input, {1, sim::kTokensMax}));
  table.add(count_setting<std::uint32_t>({"output-max", group, "N", "cut longer answers to so many tokens"},
                                         options.caps.output, {1, sim::kTokensMax}));
  table.add(
      count_setting<std::uint64_t>({"first", group, "N", "stop after so many requests"}, options.first, {1, kRowsMax}));
  table.add(setting(
      {"repeat", group, "N", "so many copies of all this, one after another, each with its own prefixes"},
      [&options](const std::string& value) { options.repeat = parse_count(value, {1, kRowsMax}); },
      [&options] { return std::to_string(options.repeat); }, false));
  table.add(count_setting<std::uint64_t>({"seed", group, "S", "what random draws begin with"}, options.seed,
                                         {0, std::numeric_limits<std::uint64_t>::max()}));
}

}  // namespace

void add_trace_settings(SettingTable& table, TraceOptions& options) {
  add_reading(table, options);
  add_changing(table, options);
}

void check_trace_settings(const SettingTable& table, const TraceOptions& options) {
  if (options.to && *options.to <= options.from) {
    throw Error(Errc::invalid_argument, fmt::format("{}: ends before {} begins", table.origin("until"),
                                                    table.given("from") ? table.origin("from") : "the trace"));
  }
}

}  // namespace baton
