// `baton sim`: replays a trace against a cluster that need not exist, and says what its users would have felt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload/open_trace.h"
#include "tools/baton/command_line.h"
#include "tools/baton/setting_table.h"

namespace baton {

class SimCommand final {
 public:
  SimCommand();
  SimCommand(const SimCommand&) = delete;
  SimCommand& operator=(const SimCommand&) = delete;
  Command command();  // refers to this object

 private:
  int run();
  int run_one();
  int run_compare();
  int run_calibrate();
  void check() const;

  std::string trace_;
  std::string cluster_;
  bool compare_ = false;
  std::vector<std::string> clusters_;  // with compare_
  std::string calibrate_;
  std::string out_;
  std::string log_format_ = "csv";
  std::uint64_t seeds_ = 1;
  bool json_ = false;
  bool step_by_step_ = false;
  sim::TraceOptions options_;
  SettingTable table_;
};

}  // namespace baton
