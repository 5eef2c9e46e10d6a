#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/errors.h"
#include "sim/workload/output_file.h"
#include "sim/workload/synthetic_spec.h"
#include "sim/workload/trace_writer.h"
#include "tools/baton/trace_command.h"
#include "tools/baton/trace_settings.h"

namespace baton {
namespace {

std::vector<std::string> writable_names() {
  std::vector<std::string> names;
  for (const sim::TraceFormat format : sim::writable_formats()) {
    names.emplace_back(to_string(format));
  }
  return names;
}

// Settings of a synthetic load that reading a trace does not have under the same name.
void add_load_settings(SettingTable& table, std::map<std::string, std::string>& load) {
  for (const sim::SyntheticSetting& known : sim::synthetic_settings()) {
    const std::string name = known.name;
    const auto names = table.names();
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      continue;
    }
    Setting setting{name,
                    "A synthetic load (with arrivals, input, output, block-tokens and seed from above)",
                    known.value,
                    known.help,
                    [&load, &known](const std::string& value) {
                      sim::SyntheticSpec scratch;
                      known.set(scratch, value);
                      load[known.name] = value;
                    },
                    [&known] { return known.text(sim::SyntheticSpec{}); }};
    setting.quoted = true;
    table.add(std::move(setting));
  }
}

}  // namespace

TraceConvertCommand::TraceConvertCommand() {
  const std::string output = "Output";
  table_.add(word_setting({"to", output, "", "the format that is written; mooncake says most"}, to_, writable_names()));
  add_trace_settings(table_, options_);
  table_.add(
      flag_setting({"synthetic", "A synthetic load (with arrivals, input, output, block-tokens and seed from above)",
                    "", "make the trace up by these settings instead of reading one"},
                   synthetic_));
  add_load_settings(table_, load_);
}

Command TraceConvertCommand::command() {
  Command command;
  command.name = "trace convert";
  command.summary = "Writes a request trace from another one, or from a description of a load";
  command.examples =
      "OUT may be - for standard output; with .gz at its end it is compressed. A synthetic load is described by\n"
      "flags (--synthetic) or by a FILE.toml with the same names, which every command takes in place of a trace:\n"
      "  arrivals = \"gamma:5,2\"\n"
      "  turns = \"uniform:1,8\"\n"
      "  think = \"exponential:20s\"\n"
      "\n"
      "Examples:\n"
      "  baton trace convert conv.csv conv.jsonl.gz                        any format, found by itself\n"
      "  baton trace convert conv.jsonl half.jsonl --rate-scale 0.5        half as fast\n"
      "  baton trace convert conv.jsonl tenth.jsonl --thin 0.1 --seed 7    a tenth of the requests\n"
      "  baton trace convert lengths.csv out.csv --to vidur --arrivals poisson:2\n"
      "  baton trace convert --synthetic chats.jsonl --requests 10000 --arrivals poisson:5 \\\n"
      "      --input lognormal:800,1.2 --output 200 --prefix-groups 20 --turns uniform:1,6 --think exponential:15s";
  command.positionals = &files_;
  command.positional_name = "FILES";
  command.positional_help = "IN OUT: a trace or a load.toml, and where to; with --synthetic only OUT";
  command.table = &table_;
  command.run = [this] { return run(); };
  return command;
}

sim::SyntheticSpec TraceConvertCommand::synthetic_spec() {
  sim::SyntheticSpec spec;
  const auto set = [&](const std::string& name, const std::string& value) {
    set_synthetic(spec, name, value, table_.origin(name));
  };
  for (const auto& [name, value] : load_) {
    set(name, value);
  }
  if (options_.arrivals) {
    set("arrivals", std::exchange(options_.arrivals, std::nullopt)->text);
  }
  if (options_.input) {
    set("input", std::exchange(options_.input, std::nullopt)->text);
  }
  if (options_.output) {
    set("output", std::exchange(options_.output, std::nullopt)->text);
  }
  if (options_.read.block_tokens != 0) {
    set("block-tokens", std::to_string(std::exchange(options_.read.block_tokens, 0)));
  }
  if (options_.seed) {
    set("seed", std::to_string(*options_.seed));
  }
  if (options_.read.format) {
    throw Error(Errc::invalid_argument, fmt::format("{}: there is no file to read", table_.origin("format")));
  }
  return spec;
}

std::unique_ptr<sim::RowSource> TraceConvertCommand::open() {
  const std::size_t wanted = synthetic_ ? 1 : 2;
  if (files_.size() != wanted) {
    throw Error(Errc::invalid_argument,
                fmt::format("{} files given, {} wanted: {}", files_.size(), wanted,
                            synthetic_ ? "where to, since --synthetic reads none" : "a trace, and where to"));
  }
  if (synthetic_) {
    return sim::open_rows(synthetic_spec(), options_);
  }
  if (!load_.empty()) {
    throw Error(Errc::invalid_argument,
                fmt::format("{}: has no use without --synthetic", table_.origin(load_.begin()->first)));
  }
  std::error_code none;
  if (std::filesystem::equivalent(files_[0], files_[1], none)) {
    throw Error(Errc::invalid_argument, fmt::format("{}: is read and would be overwritten", files_[1]));
  }
  return sim::open_rows(files_[0], options_);
}

int TraceConvertCommand::run() {
  check_trace_settings(table_, options_);
  const auto rows = open();
  std::optional<sim::TraceRow> row = rows->next();  // before a file is made
  sim::OutputFile file(files_.back());
  const sim::TextSink sink = [&file](std::string_view text) { file.write(text); };
  const auto writer = make_row_writer(sim::find_trace_format(to_).value(), sink);
  std::uint64_t count = 0;
  for (; row; row = rows->next()) {
    writer->write(*row);
    ++count;
  }
  file.close();
  fmt::print(stderr, "wrote {} requests to {}\n", count, files_.back());
  return kExitOk;
}

}  // namespace baton
