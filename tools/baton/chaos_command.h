// `baton chaos`: looks for bugs of the roles under faults, in virtual time, and shows one that was found.
#pragma once

#include <string>

#include "sim/explorer/finding.h"
#include "tools/baton/chaos_settings.h"
#include "tools/baton/command_line.h"

namespace baton {

class ChaosCommand final {
 public:
  ChaosCommand();
  explicit ChaosCommand(chaos::RunFunction run);  // for tests: another world
  ChaosCommand(const ChaosCommand&) = delete;
  ChaosCommand& operator=(const ChaosCommand&) = delete;
  Command command();  // refers to this object

 private:
  int run();

  chaos::RunFunction run_world_;
  ChaosSettings settings_;
  SettingTable table_;
};

}  // namespace baton
