// From argv to a command: reads flags by the commands' setting tables, prints help, and names the nearest flag to one
// that does not exist. The one place that sees the command line library.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/baton/setting_table.h"

namespace baton {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // it began, and something went wrong
inline constexpr int kExitBadInput = 2;  // flags, settings, files: nothing was begun

struct Command {
  std::string name;                   // "serve", or "model info" for one below another
  std::string summary;                // one line
  std::string examples;               // shown below the flags
  SettingTable* table = nullptr;      // null: takes no settings. With one it also takes --config FILE.toml
  std::string* positional = nullptr;  // null: takes none, or several
  std::vector<std::string>* positionals = nullptr;  // in place of it, for one or more
  bool positionals_optional = false;                // or for none
  std::string positional_name;                      // "FILE"
  std::string positional_help;
  std::function<int()> run;  // returns the exit code; Error(invalid_argument), (bad_file), (not_found) become 2
};

// Runs the command that argv names and returns the exit code. Whatever it throws is said in one line on stderr.
int run_command_line(int argc, const char* const* argv, std::vector<Command>& commands);

}  // namespace baton
