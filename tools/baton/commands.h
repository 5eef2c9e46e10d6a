// The commands of the program: each holds its settings, and says how it is called and what it does.
#pragma once

#include <string>

#include "tools/baton/command_line.h"
#include "tools/baton/settings.h"

namespace baton {

// Serves a model over HTTP until a signal ends it.
class ServeCommand final {
 public:
  ServeCommand();
  ServeCommand(const ServeCommand&) = delete;
  ServeCommand& operator=(const ServeCommand&) = delete;
  Command command();  // refers to this object

 private:
  int run();

  PipelineSettings pipeline_;
  ServerSettings server_;
  SettingTable table_;
};

// Sends one prompt through the ranks, without HTTP: the text goes to stdout, the timeline to stderr.
class GenerateCommand final {
 public:
  GenerateCommand();
  GenerateCommand(const GenerateCommand&) = delete;
  GenerateCommand& operator=(const GenerateCommand&) = delete;
  Command command();  // refers to this object

 private:
  int run();

  PipelineSettings pipeline_;
  GenerateSettings generate_;
  SettingTable table_;
};

// Prints what this machine offers for --device.
class DevicesCommand final {
 public:
  Command command();  // refers to this object

 private:
  int run();
};

// Prints what a model file holds.
class ModelInfoCommand final {
 public:
  Command command();  // refers to this object

 private:
  int run();
  std::string file_;
};

}  // namespace baton
