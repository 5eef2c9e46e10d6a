// `baton trace info` and `baton trace convert`: what is in request traces, and traces of other formats from them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/workload/open_trace.h"
#include "tools/baton/command_line.h"
#include "tools/baton/setting_table.h"

namespace baton {

class TraceInfoCommand final {
 public:
  TraceInfoCommand();
  TraceInfoCommand(const TraceInfoCommand&) = delete;
  TraceInfoCommand& operator=(const TraceInfoCommand&) = delete;
  Command command();  // refers to this object

 private:
  int run();

  std::vector<std::string> files_;
  sim::TraceOptions options_;
  bool json_ = false;
  SettingTable table_;
};

class TraceConvertCommand final {
 public:
  TraceConvertCommand();
  TraceConvertCommand(const TraceConvertCommand&) = delete;
  TraceConvertCommand& operator=(const TraceConvertCommand&) = delete;
  Command command();  // refers to this object

 private:
  int run();
  std::unique_ptr<sim::RowSource> open();
  sim::SyntheticSpec synthetic_spec();

  std::vector<std::string> files_;  // from, to; with synthetic_ only to
  sim::TraceOptions options_;
  std::string to_ = "mooncake";
  bool synthetic_ = false;
  std::map<std::string, std::string> load_;  // settings of a synthetic load alone, as given
  SettingTable table_;
};

}  // namespace baton
