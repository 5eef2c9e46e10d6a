// The commands of the program: each holds its settings, and says how it is called and what it does.
#pragma once

#include <string>

#include "tools/baton/command_line.h"
#include "tools/baton/settings.h"

namespace baton {

// Prints what a model file holds.
class ModelInfoCommand final {
 public:
  Command command();  // refers to this object

 private:
  int run();
  std::string file_;
};

}  // namespace baton
