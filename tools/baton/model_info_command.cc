#include <cstdio>

#include <fmt/format.h>

#include "model/files/model_describe.h"
#include "model/files/model_source.h"
#include "tools/baton/commands.h"

namespace baton {

Command ModelInfoCommand::command() {
  Command command;
  command.name = "model info";
  command.summary = "Says what is in a model file";
  command.examples = "Example:\n  baton model info \"$(tools/fetch_model)\"";
  command.positional = &file_;
  command.positional_name = "FILE";
  command.positional_help = "GGUF file, safetensors file, or a folder with one of them";
  command.run = [this] { return run(); };
  return command;
}

int ModelInfoCommand::run() {
  fmt::print("{}", describe(ModelSource::open(file_)));
  return kExitOk;
}

}  // namespace baton
