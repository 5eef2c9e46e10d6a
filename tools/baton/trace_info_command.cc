#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/workload/trace_info.h"
#include "tools/baton/trace_command.h"
#include "tools/baton/trace_settings.h"

namespace baton {

TraceInfoCommand::TraceInfoCommand() {
  table_.add(flag_setting({"json", "Output", "", "print a JSON list with one object per trace"}, json_));
  add_trace_settings(table_, options_);
}

Command TraceInfoCommand::command() {
  Command command;
  command.name = "trace info";
  command.summary = "Says what is in request traces: how many, how fast, how long, how much is shared";
  command.examples =
      "The format is found by itself, and gzip undone. A FILE.toml is a synthetic load (see baton trace convert).\n"
      "The settings under Changing show what a run with them would get.\n"
      "\n"
      "Examples:\n"
      "  baton trace info examples/traces/mooncake_conversation.jsonl.gz\n"
      "  baton trace info --json *.csv                    for a program\n"
      "  baton trace info trace.jsonl --spread auto       after spreading its coarse time stamps\n"
      "  baton trace info rates.csv --category language/m-large --input lognormal:1000,1.2 --output 200 --until 1h";
  command.positionals = &files_;
  command.positional_name = "FILE";
  command.positional_help = "request traces, or synthetic loads";
  command.table = &table_;
  command.run = [this] { return run(); };
  return command;
}

int TraceInfoCommand::run() {
  check_trace_settings(table_, options_);
  std::string text;
  for (const std::string& file : files_) {
    const sim::TraceInfo info = sim::trace_info(*sim::open_rows(file, options_));
    if (json_) {
      text += (text.empty() ? "[" : ",\n ") + sim::info_json(file, info);
    } else {
      text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", file, sim::info_text(info));
    }
  }
  fmt::print("{}{}", text, json_ ? "]\n" : "");
  return kExitOk;
}

}  // namespace baton
